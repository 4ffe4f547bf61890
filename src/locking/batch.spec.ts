import { describe, expect, it } from 'vitest';
import { type Command } from '../core/commands.js';
import { EMPTY_STATE } from '../core/state.js';
import { DEFAULT_POLICY } from '../../test/support/default-policy.js';
import { resource } from '../../test/support/resource-driver.js';
import { combine } from './batch.js';

const NOW_MS = 1000;

const acquire = (type: string, nodeId: string): Command => ({ kind: 'acquire', type, asker: { nodeId } });
const fail = (type: string, nodeId: string, error = 'boom'): Command => ({
  kind: 'release',
  type,
  asker: { nodeId },
  success: false,
  error,
  fatal: false,
});

function kinds(state: typeof EMPTY_STATE, ...commands: Command[]): string[] {
  return combine(state, commands, NOW_MS, DEFAULT_POLICY).results.map(({ kind }) => kind);
}

describe('combine', () => {
  it('takes everything that one commit can carry', () => {
    const commands = [acquire('pull', 'a'), acquire('pull', 'b'), acquire('pull', 'b'), acquire('pull', 'c')];
    expect(kinds(EMPTY_STATE, ...commands)).toEqual(['acquired', 'queued', 'queued', 'queued']);
  });

  it('stops before a second grant: a token is the revision of its commit', () => {
    expect(kinds(EMPTY_STATE, acquire('pull', 'a'), acquire('update', 'b'))).toEqual(['acquired']);
    const handedOn = [acquire('pull', 'a'), acquire('pull', 'b'), fail('pull', 'a')];
    expect(kinds(EMPTY_STATE, ...handedOn)).toEqual(['acquired', 'queued']);
  });

  it('stops before a renewal of what it grants: an expiry could not tell the two apart', () => {
    const renew: Command = { kind: 'renew', type: 'pull', asker: { nodeId: 'a' } };
    for (const again of [acquire('pull', 'a'), renew]) {
      expect(kinds(EMPTY_STATE, acquire('pull', 'a'), again)).toEqual(['acquired']);
    }
  });

  it('takes renewals of what was granted before along with a grant', () => {
    const layer = resource();
    layer.grant('pull', 'a');
    const commands = [acquire('update', 'b'), acquire('pull', 'a')];
    expect(kinds(layer.state, ...commands)).toEqual(['acquired', 'acquired']);
  });

  it('takes the second grant first with the next commit', () => {
    const { state } = resource();
    const first = combine(state, [acquire('pull', 'a'), acquire('update', 'b')], NOW_MS, DEFAULT_POLICY);
    expect(kinds(first.state, acquire('update', 'b'))).toEqual(['acquired']);
  });

  it('stops once the events would crowd the record', () => {
    const layer = resource();
    layer.grant('pull', 'a');
    const error = 'x'.repeat(4000);
    const comeAndGo = Array.from({ length: 50 }, (_, i) => [
      acquire('pull', `node-${i}`),
      { kind: 'withdraw', type: 'pull', asker: { nodeId: `node-${i}` }, error } as const,
    ]).flat();
    const { events, results } = combine(layer.state, comeAndGo, NOW_MS, DEFAULT_POLICY);
    expect(results.length).toBeLessThan(20);
    expect(JSON.stringify(events).length).toBeLessThan(36 * 1024);
  });

  it('returns the very state when nothing has changed', () => {
    const layer = resource();
    layer.grant('pull', 'a');
    layer.queue('pull', 'b');
    const again = combine(layer.state, [acquire('pull', 'b')], NOW_MS, DEFAULT_POLICY);
    expect(again.state).toBe(layer.state);
    expect(again.events).toEqual([]);
  });
});
