import { describe, expect, it } from 'vitest';
import { asker, resource, type ResourceDriver } from '../../test/support/resource-driver.js';
import { type Asker, ChunkedList, type EntryShape } from './chunked-list.js';
import { BrokenInvariantError, checkState } from './invariants.js';
import { type Policy } from './policy.js';
import { type KeyState, NO_DISMISSALS, NO_WAITERS, referenceShape, type ResourceState } from './state.js';

/** n1 holds, n2 and n3 wait, n8 and n9 are references; n7 was dismissed by an earlier success. */
function busy(policy: Partial<Policy> = {}): ResourceDriver {
  const r = resource(policy);
  r.refer('n8');
  r.refer('n9');
  r.grant('scan', 'n6');
  r.queue('scan', 'n7');
  r.succeed('scan', 'n6');
  r.grant('scan', 'n1');
  r.queue('scan', 'n2');
  r.queue('scan', 'n3');
  return r;
}

function withKey(
  r: ResourceDriver,
  change: (key: KeyState) => Partial<KeyState>,
  type = 'scan',
): ResourceState {
  const { state } = r;
  return {
    ...state,
    keys: Array.from(state.keys, (key) => (key.type === type ? { ...key, ...change(key) } : key)),
  };
}

/** Stored chunks with other entries than they should have. */
function forged<T extends Asker>(list: ChunkedList<T>, change: (entries: readonly T[]) => readonly T[]) {
  const shape: EntryShape<T> = { bytes: () => 1, settle: (entry) => entry };
  return ChunkedList.of(
    shape,
    list.chunks.map((chunk) => ({ ...chunk, entries: change(chunk.entries) })),
  );
}

const broken: readonly [string, Partial<Policy>, (r: ResourceDriver) => ResourceState][] = [
  ['one holder per resource', { lockIsolation: 'resource' }, (r) => beside(r, 'other', {})],
  ['one state per type', {}, (r) => ({ ...r.state, keys: [...r.state.keys, r.key('scan')] })],
  [
    'count = referencing nodes',
    {},
    (r) => ({ ...r.state, references: forged(r.state.references, (all) => [all[0]!, all[0]!]) }),
  ],
  ['an asker at most once per queue', {}, (r) => withKey(r, repeatLane)],
  ['no waiter beside a free key', {}, (r) => withKey(r, () => ({ hold: undefined }))],
  [
    'no empty lane',
    {},
    (r) => withKey(r, (key) => ({ lanes: [...key.lanes, { name: 'x', waiters: NO_WAITERS }] })),
  ],
  [
    'FIFO per lane',
    {},
    (r) =>
      withKey(r, (key) => ({
        lanes: key.lanes.map((lane) => ({
          ...lane,
          waiters: forged(lane.waiters, (all) => all.toReversed()),
        })),
      })),
  ],
  [
    'who waits or holds has nothing old to be told',
    {},
    (r) =>
      withKey(r, (key) => ({
        dismissals: forged(key.dismissals, (all) => all.map((entry) => ({ ...entry, ...asker('n1') }))),
      })),
  ],
  [
    'an asker at most once among the dismissed',
    {},
    (r) => withKey(r, (key) => ({ dismissals: forged(key.dismissals, (all) => [...all, ...all]) })),
  ],
  [
    'a failure is kept beside a success only if newer',
    {},
    (r) => withKey(r, (key) => ({ failure: { ...key.success!, success: false } })),
  ],
  [
    'no success beside a held delete',
    {},
    (r) => beside(r, 'delete', { hold: { ...r.key('scan').hold!, token: 9999 } }),
  ],
  [
    'no success older than a granted delete',
    {},
    (r) => {
      const success = { ...r.key('scan').success!, token: r.revision };
      return beside(r, 'delete', { hold: undefined, success });
    },
  ],
  ['no two grants in one commit', {}, (r) => beside(r, 'update', {})],
  ['tokens are settled', {}, (r) => withKey(r, ({ hold }) => ({ hold: { ...hold!, token: 0 } }))],
  ['chunk names are not given out twice', {}, (r) => ({ ...r.state, nextChunkId: 1 })],
  [
    'chunks are settled',
    {},
    (r) => ({
      ...r.state,
      references: ChunkedList.of(referenceShape, [{ ...r.state.references.chunks[0]!, revision: 0 }]),
    }),
  ],
  [
    'chunks have names of their own',
    {},
    (r) => ({
      ...r.state,
      references: ChunkedList.of(referenceShape, [
        { ...r.state.references.chunks[0]!, id: r.key('scan').dismissals.chunks[0]!.id },
      ]),
    }),
  ],
];

function repeatLane(key: KeyState): Partial<KeyState> {
  return { lanes: [...key.lanes, { ...key.lanes[0]!, name: 'again' }] };
}

/** The same key again under another type, with no lists of its own. */
function beside(r: ResourceDriver, type: string, change: Partial<KeyState>): ResourceState {
  const key = { ...r.key('scan'), type, lanes: [], dismissals: NO_DISMISSALS, ...change };
  return { ...r.state, keys: [...r.state.keys, key] };
}

describe('the invariants of a state', () => {
  it('hold after ordinary use', () => {
    const r = busy();
    expect(() => checkState(r.state, r.policy)).not.toThrow();
  });

  it.each(broken)('notice when this is broken: %s', (invariant, policy, breakIt) => {
    const r = busy(policy);
    expect(() => checkState(breakIt(r), r.policy)).toThrow(new BrokenInvariantError(invariant));
  });

  it.each<[string, Partial<Policy>]>([
    ['clients count, not the server', { refcountMode: 'client' }],
    ['hand-over records no success', { successPolicy: 'handover' }],
    ['queues are bounded', { maxQueueLength: 1 }],
  ])('depend on the policy: %s', (invariant, policy) => {
    const r = busy();
    expect(() => checkState(r.state, { ...r.policy, ...policy })).toThrow(
      new BrokenInvariantError(invariant),
    );
  });

  it('under resource isolation allow waiters of a free key beside the hold of another', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('scan', 'n1');
    r.queue('update', 'n2');
    expect(() => checkState(r.state, r.policy)).not.toThrow();
    expect(() => checkState(r.state, { ...r.policy, lockIsolation: 'operation' })).toThrow('free key');
  });
});
