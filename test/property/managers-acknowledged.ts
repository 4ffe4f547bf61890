import { expect } from 'vitest';
import { type Policy } from '../../src/core/policy.js';
import { type ResourceState } from '../../src/core/state.js';
import { type Answer } from './managers-crowd.js';
import { type Witness } from './managers-witness.js';

const ENDED_BY = new Set(['released', 'expired', 'completed', 'failed']);

/** Whatever a client was told has happened, and happened to it. */
export function checkAnswers(answers: readonly Answer[], witness: Witness): void {
  const owners = new Map<string, string>();
  for (const { resourceId, asker, command, result } of answers) {
    if (!('type' in command)) continue;
    const { type } = command;
    if (result.kind === 'acquired') {
      const grant = witness.find(
        resourceId,
        ({ name, token }) => (name === 'granted' || name === 'assigned') && token === result.token,
      );
      expect(grant, 'what a client holds was granted').toMatchObject({ type, nodeId: asker.nodeId });
      const owner = `${type} ${asker.nodeId} ${asker.sessionId}`;
      const hold = `${resourceId} ${result.token}`;
      expect(owners.get(hold) ?? owner, 'a token has one owner').toBe(owner);
      owners.set(hold, owner);
    }
    if (result.kind === 'queued') {
      const { ticket } = result;
      const queued = witness.find(
        resourceId,
        ({ moment }) => moment.revision === ticket.revision && moment.n === ticket.n,
      );
      expect(queued, 'a ticket names its queueing').toMatchObject({ name: 'queued', nodeId: asker.nodeId });
    }
    if (command.kind === 'release' && result.kind === 'released') {
      const end = witness.find(
        resourceId,
        (event) =>
          ENDED_BY.has(event.name) &&
          event.type === type &&
          event.nodeId === asker.nodeId &&
          event.success === command.success &&
          (command.token === undefined || event.token === command.token),
      );
      expect(end, 'an acknowledged outcome is recorded').toBeDefined();
    }
  }
}

/** An acknowledged reference stays until somebody takes it back. */
export function checkReferences(
  resourceId: string,
  state: ResourceState,
  answers: readonly Answer[],
  witness: Witness,
  policy: Policy,
): void {
  if (policy.refcountMode === 'client') return;
  if (witness.find(resourceId, ({ name, type }) => name === 'completed' && type === 'delete')) return;
  for (const { asker, command, result } of answers.filter((answer) => answer.resourceId === resourceId)) {
    const added =
      (command.kind === 'add-reference' && result.kind === 'counted') ||
      (command.kind === 'acquire' && command.type === 'pull' && result.kind === 'skipped') ||
      (command.kind === 'release' &&
        command.type === 'pull' &&
        command.success &&
        result.kind === 'released');
    const { nodeId } = asker;
    const released = witness.find(
      resourceId,
      (event) => event.name === 'unreferenced' && event.nodeId === nodeId,
    );
    if (added && !released) {
      expect(state.references.has({ nodeId }), `${nodeId} is still counted`).toBe(true);
    }
  }
}
