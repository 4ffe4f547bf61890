import { Inject, Injectable } from '@nestjs/common';
import { type ReferenceDto } from './dto/reference.dto.js';
import { LockManager } from './lock-manager.js';
import { LOCK_POLICY } from './locking.module-definition.js';
import { type LockPolicy } from './lock-policy.js';
import { isoTime } from './wire/answers.js';
import { refusal } from './wire/refusals.js';

/** Reference counts over HTTP. They change only through the manager, in the resource's serialised step. */
@Injectable()
export class ReferencesService {
  constructor(
    private readonly manager: LockManager,
    @Inject(LOCK_POLICY) private readonly policy: LockPolicy,
  ) {}

  async get(resourceId: string) {
    this.assertCounting();
    const { references } = await this.manager.read(resourceId);
    const nodes = Array.from(references, ({ nodeId, sinceMs }) => ({
      node_id: nodeId,
      ...(sinceMs !== undefined && { since: isoTime(sinceMs) }),
    }));
    return { resource_id: resourceId, count: nodes.length, nodes };
  }

  add(request: ReferenceDto) {
    return this.change('add-reference', request);
  }

  release(request: ReferenceDto) {
    return this.change('release-reference', request);
  }

  async releaseNode(nodeId: string) {
    this.assertCounting();
    const resources = await this.manager.referencedBy(nodeId);
    const command = { kind: 'release-reference', nodeId } as const;
    await Promise.all(resources.map((resourceId) => this.manager.execute(resourceId, command)));
    return { node_id: nodeId, released: resources.length };
  }

  private async change(kind: 'add-reference' | 'release-reference', request: ReferenceDto) {
    const { resource_id: resourceId, node_id: nodeId } = request;
    const result = await this.manager.execute(resourceId, { kind, nodeId });
    if (result.kind === 'refused') throw refusal(result);
    return { resource_id: resourceId, node_id: nodeId, count: result.count };
  }

  private assertCounting(): void {
    if (this.policy.refcountMode === 'server') return;
    const error = 'references are counted by the clients (REFCOUNT_MODE=client)';
    throw refusal({ kind: 'refused', code: 'REFCOUNT_DISABLED', error });
  }
}
