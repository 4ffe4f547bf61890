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

  /** Counts this client's node (or another) as a user of the resource. How many there are now. */
  add(resourceId: string, nodeId = this.nodeId): Promise<number> {
    return this.change('/refcounts/add', resourceId, nodeId);
  }

  /** This client's node (or another) does not use the resource any more. How many are left. */
  release(resourceId: string, nodeId = this.nodeId): Promise<number> {
    return this.change('/refcounts/release', resourceId, nodeId);
  }

  private async change(path: string, resourceId: string, nodeId: string): Promise<number> {
    checkResource(resourceId);
    const body = JSON.stringify({ resource_id: resourceId, node_id: nodeId });
    return readCount(await this.caller.call('POST', path, body), { method: 'POST', path, body });
  }
}
