import { type Reply, type ServerProcess } from '../support/server-process.js';
import { type StreamEvent, Subscription } from './preset-stream.js';

/** What every preset of the seeds has: nothing kept, nothing that ends by itself. */
export const BARE = { STORE_URL: 'memory:', DEFAULT_LEASE_MS: '0', CLAIM_TIMEOUT_MS: '0' };

export const GRANTED = { acquired: true, skip: false };
export const QUEUED = { acquired: false, skip: false };
export const SKIPPED = { acquired: false, skip: true };

/** One resource of a server, in the words of the seeds' nodes. */
export class Resource {
  constructor(
    private readonly server: ServerProcess,
    private readonly id: string,
  ) {}

  async lock(type: string, node: string, more: object = {}): Promise<Record<string, unknown>> {
    return (await this.post('/lock', type, node, more)).body;
  }

  /** An empty error is a success. */
  unlock(type: string, node: string, error = ''): Promise<Reply> {
    return this.post('/unlock', type, node, { error });
  }

  post(path: string, type: string, node: string, more: object = {}): Promise<Reply> {
    return this.server.post(path, { type, resource_id: this.id, node_id: node, ...more });
  }

  async status(type: string, node: string): Promise<Record<string, unknown>> {
    return (await this.server.get(`/lock/status?type=${type}&resource_id=${this.id}&node_id=${node}`)).body;
  }

  refcounts(): Promise<Reply> {
    return this.server.get(`/refcounts?resource_id=${this.id}`);
  }

  subscribe(type: string, query: Record<string, string> = {}): Promise<Subscription> {
    return Subscription.open(this.server.url, { type, resource_id: this.id, ...query });
  }

  /** The next thing said to subscribers of the key while `action` happens. */
  async heard(type: string, action: () => Promise<unknown>): Promise<StreamEvent> {
    const subscription = await this.subscribe(type);
    await action();
    const event = await subscription.next();
    subscription.close();
    return event;
  }
}
