import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** The client looks at its own timer only when a line comes: one that comes this late is thrown away, with the stream. */
const THROW_AWAY_AFTER_MS = 1000;

export interface OldGoKey {
  readonly type: string;
  readonly resource_id: string;
}

export interface OldGoOptions {
  /** `/subscribe` is what some of them ask for. */
  readonly subscribePath?: '/lock/subscribe' | '/subscribe';
  readonly maxRetries?: number;
  readonly retryIntervalMs?: number;
  /** Runs between "not acquired" and the subscription, where a test makes something happen. */
  readonly beforeSubscribing?: () => Promise<unknown>;
}

/** `acquired`: do it, then unlock. `done`: another node did it. */
export type OldGoOutcome = 'acquired' | 'done';

interface OldGoEvent {
  readonly node_id: string;
  readonly success: boolean;
}

/** What an old client does not understand, it reports and gives up. */
export class OldGoError extends Error {}

/** A broken connection: tried again from the start, `maxRetries` times. */
class BrokenConnection extends Error {}

/**
 * A client as it was before Holdfast, mistakes included (the design). It POSTs without token, session or ticket,
 * ignores `skip`, understands 200 and 403 only, subscribes without its node, and reads only `data: ` lines.
 * `success: true` is "done by another", `success: false` with its own node "ask again". A stream that ends
 * properly looks to it like a server that has nothing more to say.
 */
export class OldGoClient {
  /** POSTs to /lock. */
  asked = 0;
  /** Every line of every stream, to see what the server says to such a client. */
  readonly lines: string[] = [];

  constructor(
    private readonly serverUrl: string,
    readonly nodeId: string,
    private readonly options: OldGoOptions = {},
  ) {}

  async lock(key: OldGoKey): Promise<OldGoOutcome> {
    return this.retrying(() => this.lockOnce(key));
  }

  /** An empty `error` is a success. */
  async unlock(key: OldGoKey, error = ''): Promise<void> {
    await this.retrying(async () => {
      const { released } = await this.post('/unlock', { ...key, node_id: this.nodeId, error });
      if (released !== true) throw new OldGoError('unlock: not released');
    });
  }

  private async lockOnce(key: OldGoKey): Promise<OldGoOutcome> {
    this.asked++;
    const timestamp = new Date().toISOString();
    const { acquired } = await this.post('/lock', { ...key, node_id: this.nodeId, timestamp });
    if (acquired === true) return 'acquired';
    await this.options.beforeSubscribing?.();
    return this.waitForLock(key);
  }

  /** Asks again from within the wait, and may wait again within that. */
  private async waitForLock(key: OldGoKey): Promise<OldGoOutcome> {
    const heard = await this.subscribe(key);
    return heard === 'done' ? 'done' : this.lockOnce(key);
  }

  private async subscribe(key: OldGoKey): Promise<'done' | 'ask again'> {
    const path = this.options.subscribePath ?? '/lock/subscribe';
    const query = new URLSearchParams({ ...key }).toString();
    const stream = await this.send('GET', `${path}?${query}`);
    if (stream.statusCode !== 200) throw new OldGoError(`subscribe: status ${stream.statusCode}`);
    const subscribedAt = performance.now();
    try {
      for await (const line of linesOf(stream)) {
        this.lines.push(line);
        if (performance.now() - subscribedAt >= THROW_AWAY_AFTER_MS) return 'ask again';
        if (!line.startsWith('data: ')) continue;
        const event = JSON.parse(line.slice('data: '.length)) as OldGoEvent;
        if (event.success) return 'done';
        if (event.node_id === this.nodeId) return 'ask again';
      }
    } finally {
      stream.destroy();
    }
    throw new OldGoError('subscribe: the stream has ended');
  }

  private async post(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await this.send('POST', path, JSON.stringify(body));
    let text = '';
    try {
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    } catch (cause) {
      throw new BrokenConnection(`${path}: the answer broke off`, { cause });
    }
    const answer = JSON.parse(text) as Record<string, unknown>;
    if (response.statusCode === 200) return answer;
    if (response.statusCode === 403) throw new OldGoError(String(answer['error']));
    throw new OldGoError(`${path}: status ${response.statusCode}`);
  }

  private send(method: 'GET' | 'POST', path: string, body?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const sent = request(`${this.serverUrl}${path}`, { method, headers, agent: false }, resolve);
      sent.on('error', (cause) => reject(new BrokenConnection(`${path}: no answer`, { cause })));
      sent.end(body);
    });
  }

  private async retrying<T>(attempt: () => Promise<T>): Promise<T> {
    const { maxRetries = 3, retryIntervalMs = 1000 } = this.options;
    for (let retries = 0; ; retries++) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof BrokenConnection) || retries === maxRetries) throw error;
        await sleep(retryIntervalMs);
      }
    }
  }
}

async function* linesOf(stream: IncomingMessage): AsyncIterable<string> {
  let rest = '';
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      const lines = `${rest}${String(chunk)}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (cause) {
    throw new BrokenConnection('subscribe: the stream broke off', { cause });
  }
}
