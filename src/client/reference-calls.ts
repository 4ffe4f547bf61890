import { readCount, readReferences } from './answers.js';
import { type Caller } from './caller.js';
import { checkResource } from './checks.js';
import { type References } from './requests.js';

/** Who uses what: `client.refs`. */
export class ReferenceCalls {
  constructor(
    private readonly caller: Caller,
    private readonly nodeId: string,
  ) {}

  async get(resourceId: string): Promise<References> {
    checkResource(resourceId);
    const path = `/refcounts?resource_id=${encodeURIComponent(resourceId)}`;
    return readReferences(await this.caller.call('GET', path), { method: 'GET', path });
  }

  /**
   * Counts this client's node (or another) as a user of the resource. How many there are now. Rejects with the reason of the
   * signal; then it is not known whether it was counted.
   */
  add(resourceId: string, nodeId = this.nodeId, signal?: AbortSignal): Promise<number> {
    return this.change('/refcounts/add', resourceId, nodeId, signal);
  }

  /** This client's node (or another) does not use the resource any more. How many are left. */
  release(resourceId: string, nodeId = this.nodeId): Promise<number> {
    return this.change('/refcounts/release', resourceId, nodeId);
  }

  private async change(
    path: string,
    resourceId: string,
    nodeId: string,
    signal?: AbortSignal,
  ): Promise<number> {
    checkResource(resourceId);
    const body = JSON.stringify({ resource_id: resourceId, node_id: nodeId });
    const reply = await this.caller.call('POST', path, body, signal && { signal });
    return readCount(reply, { method: 'POST', path, body });
  }
}
