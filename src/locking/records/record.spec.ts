import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Acquire, type Command } from '../../core/commands.js';
import { settle } from '../../core/settle.js';
import { MAX_ERROR_BYTES, MAX_LEASE_MS, MAX_TYPES_PER_RESOURCE } from '../../core/limits.js';
import { cutToBytes } from '../../core/text.js';
import { EMPTY_STATE, keyOf, NO_REFERENCES, type ResourceState } from '../../core/state.js';
import { MAX_VALUE_BYTES } from '../../stores/state-store.interface.js';
import { plain, RecordShelf } from '../../../test/support/record-shelf.js';
import { DEFAULT_POLICY } from '../../../test/support/default-policy.js';
import { headKey } from './item-keys.js';
import { encodeRecord } from './encode-record.js';
import { decodeHead, NO_RECORD, recordOfHead } from './record.js';
import { combine } from '../batch.js';

const LONGEST_ERROR = cutToBytes('錯誤 "\\\u0001 😀 '.repeat(1000), MAX_ERROR_BYTES);

const NOW_MS = 1_800_000_000_000;

const LONG_NAME = '節點😀"'.repeat(64);

/** Up to 256 characters, of one to four bytes each. */
function nodeName(i: number, length: number): string {
  return LONG_NAME.slice(0, Math.max(0, length - 8)) + String(i);
}

function arrivals(type: string, count: number, length: number, from = 0): Command[] {
  return Array.from({ length: count }, (_, i) => ({
    kind: 'acquire',
    type,
    asker: { nodeId: nodeName(from + i, length), ...(i % 3 === 0 && { sessionId: `session-${i}` }) },
    ...(i % 5 === 0 && { leaseMs: 1000 * i, subtype: 'gold', absent: true }),
    ...(i % 7 === 0 && { deliveredLater: true, at: 'instance' }),
  }));
}

/** Something that happens to a resource, as commands that fit its state. */
type Happening = (shelf: RecordShelf) => Command[];

const types = fc.constantFrom('pull', 'update', 'delete', 'scan');
const arrive = fc
  .record({ type: types, count: fc.oneof(fc.nat(5), fc.nat(800)), length: fc.nat(256), from: fc.nat(900) })
  .map(
    ({ type, count, length, from }): Happening =>
      () =>
        arrivals(type, count, length, from),
  );
const end = fc
  .record({ type: types, success: fc.boolean(), fatal: fc.boolean(), long: fc.boolean() })
  .map(({ type, success, fatal, long }): Happening => ({ state }) => {
    const hold = keyOf(state, type)?.hold;
    if (!hold) return [];
    const error = success ? '' : long ? LONGEST_ERROR : 'boom';
    const asker = { nodeId: hold.nodeId, sessionId: hold.sessionId };
    return [{ kind: 'release', type, asker, success, error, fatal: fatal && !success }];
  });
const leave = fc
  .record({ type: types, every: fc.integer({ min: 1, max: 7 }) })
  .map(({ type, every }): Happening => ({ state }) => {
    const key = keyOf(state, type);
    const waiting = key?.lanes.flatMap((lane) => [...lane.waiters]) ?? [];
    return waiting
      .filter((_, i) => i % every === 0)
      .map((asker) => ({ kind: 'withdraw', type, asker, error: 'cancelled' }));
  });
const tell = types.map(
  (type): Happening =>
    ({ state }) =>
      [...(keyOf(state, type)?.dismissals ?? [])]
        .filter((_, i) => i % 4 === 0)
        .map(({ nodeId, sessionId, outcome }) => ({
          kind: 'spend',
          type,
          asker: { nodeId, sessionId },
          moment: outcome.moment,
        })),
);
const refer = fc.record({ count: fc.nat(900), length: fc.nat(256), release: fc.boolean() }).map(
  ({ count, length, release }): Happening =>
    () =>
      Array.from({ length: count }, (_, i) => ({
        kind: release ? 'release-reference' : 'add-reference',
        nodeId: nodeName(i, length),
      })),
);
const forget = types.map((type): Happening => ({ record }) => [
  { kind: 'forget', type, upTo: record.revision },
]);

const happenings = fc.array(fc.oneof(arrive, arrive, end, end, leave, tell, refer, forget), {
  maxLength: 10,
});

/** Reads back what was written and finds all of it, within the limits of every store. */
function checkStored(shelf: RecordShelf): void {
  const { record, events } = shelf.decoded();
  expect(plain(record.state)).toEqual(plain(shelf.state));
  expect(record.revision).toBe(shelf.record.revision);
  expect([...record.spilled].sort()).toEqual([...shelf.record.spilled].sort());
  if (record.revision > 0) expect(events).toEqual(shelf.events);
  for (const { value } of shelf.items.values()) {
    expect(Buffer.byteLength(value)).toBeLessThanOrEqual(MAX_VALUE_BYTES);
  }
}

describe('a stored record', () => {
  it('is read back exactly as it was written, whatever happened to the resource', () => {
    fc.assert(
      fc.property(happenings, fc.boolean(), fc.boolean(), (history, lanes, rereads) => {
        const shelf = new RecordShelf({ ...DEFAULT_POLICY, lanes: lanes ? ['gold'] : [] });
        for (const happens of history) {
          shelf.run(happens(shelf));
          checkStored(shelf);
          if (rereads) shelf.reread();
        }
      }),
      { numRuns: 25 },
    );
  });

  it('fits into its items with sixty-four types and the longest errors', () => {
    const shelf = new RecordShelf({ ...DEFAULT_POLICY, refcountMode: 'client' });
    for (let i = 0; i < MAX_TYPES_PER_RESOURCE; i++) {
      const type = `${i}-`.padEnd(64, 'x');
      const asker = { nodeId: nodeName(0, 256) };
      shelf.run(arrivals(type, 4, 256));
      const release = { kind: 'release', type, asker, success: false, error: LONGEST_ERROR } as const;
      shelf.run([{ ...release, fatal: true, asker: { ...asker, sessionId: 'session-0' } }]);
      shelf.run(arrivals(type, 4, 256, 10));
      if (i % 9 === 0) checkStored(shelf);
    }
    expect(shelf.state.keys).toHaveLength(MAX_TYPES_PER_RESOURCE);
    expect(shelf.record.spilled.length).toBeGreaterThan(MAX_TYPES_PER_RESOURCE);
  });

  it('fits into its items with a full queue of the longest names, through their dismissal', () => {
    const shelf = new RecordShelf();
    shelf.fill(arrivals('pull', 10_001, 256));
    const { nodeId, sessionId } = keyOf(shelf.state, 'pull')!.hold!;
    const asker = { nodeId, sessionId };
    shelf.run([{ kind: 'release', type: 'pull', asker, success: true, error: '', fatal: false }]);
    checkStored(shelf);
    expect(shelf.state.references.size).toBe(10_001);
  });

  it('fits into its items when a long table of contents meets the longest events', () => {
    let id = 0;
    const nodes = Array.from({ length: 55_000 }, (_, i) => ({ nodeId: nodeName(i, 256), sinceMs: 1 }));
    const references = NO_REFERENCES.appendAll(nodes, () => ++id);
    const state = settle({ ...EMPTY_STATE, references, nextChunkId: id + 1 }, 1_767_225_600_000_000);
    const shelf = new RecordShelf();
    shelf.state = state;
    shelf.fill(arrivals('scan', 9, 256));
    const leaving = arrivals('scan', 9, 256).map((command): Command => {
      const { asker } = command as Acquire;
      return { kind: 'withdraw', type: 'scan', asker, error: LONGEST_ERROR };
    });
    const { events, state: next } = combine(shelf.state, leaving, 0, DEFAULT_POLICY);
    const base = { state, head: '', revision: 1, spilled: [] };
    const { writes } = encodeRecord('layer', base, next, { commitId: 'id', events, othersRead: true });
    for (const write of writes) {
      if ('put' in write)
        expect(Buffer.byteLength(write.put.toString())).toBeLessThanOrEqual(MAX_VALUE_BYTES);
    }
  });

  it('has its events only where others read them', () => {
    const { state, events } = combine(EMPTY_STATE, arrivals('scan', 1, 8), 0, DEFAULT_POLICY);
    expect(events).toHaveLength(1);
    const eventsRead = (othersRead: boolean) => {
      const { head } = encodeRecord('layer', NO_RECORD, state, { commitId: 'id', events, othersRead });
      return decodeHead('layer', head!.toString(), 7).events(() => '');
    };
    expect(eventsRead(true)).toHaveLength(1);
    expect(eventsRead(false)).toEqual([]);
  });

  it('leaves no item behind when it goes', () => {
    const shelf = new RecordShelf({ ...DEFAULT_POLICY, refcountMode: 'client' });
    shelf.run(arrivals('scan', 500, 256));
    const asker = { nodeId: nodeName(0, 256), sessionId: 'session-0' };
    shelf.run([{ kind: 'release', type: 'scan', asker, success: true, error: '', fatal: false }]);
    expect(shelf.items.size).toBeGreaterThan(3);
    shelf.run([{ kind: 'forget', type: 'scan', upTo: shelf.record.revision }]);
    expect([...shelf.items.keys()]).toEqual([]);
  });

  it('of another format is refused, and so is a damaged one', () => {
    const unreadable = expect.objectContaining({ code: 'STORE_UNREADABLE' }) as unknown;
    expect(() => decodeHead('layer', '{"v":99}', 1)).toThrow(unreadable as Error);
    expect(() => decodeHead('layer', '{"v":', 1)).toThrow(unreadable as Error);
    expect(() => decodeHead('layer', 'null', 1)).toThrow(unreadable as Error);
  });
});

describe('a long queue', () => {
  const parts = (shelf: RecordShelf) =>
    shelf.writes.map(({ key }) => key).filter((key) => key !== headKey(shelf.resourceId));

  it('of ten thousand takes one more by writing its head and its last chunk', () => {
    const shelf = new RecordShelf();
    shelf.fill(arrivals('pull', 10_000, 20));
    shelf.run(arrivals('pull', 1, 20, 20_000));
    expect(shelf.writes.length).toBeLessThanOrEqual(2);
    expect(parts(shelf).length).toBeLessThanOrEqual(1);
  });

  it('loses one from its middle by writing its head and that chunk', () => {
    const shelf = new RecordShelf();
    shelf.fill(arrivals('pull', 2000, 20));
    const before = new Map(shelf.items);
    shelf.run([
      { kind: 'withdraw', type: 'pull', asker: { nodeId: nodeName(1000, 20) }, error: 'cancelled' },
    ]);
    expect(parts(shelf)).toHaveLength(1);
    const unchanged = [...shelf.items].filter(([key, item]) => before.get(key) === item);
    expect(unchanged).toHaveLength(before.size - 2);
  });
});

describe('a head', () => {
  const units = fc.constantFrom('a', 'é', '"', '\\', '\u0001', '\ud800', '節', '😀');
  const name = fc.array(units, { minLength: 1, maxLength: 256 }).map((parts) => parts.join('').slice(0, 256));
  const run = fc.record({ nodeId: name, sessionId: fc.option(name, { nil: undefined }), ending: types });

  function stateAfter(runs: readonly { nodeId: string; sessionId?: string | undefined; ending: string }[]) {
    let state = EMPTY_STATE;
    runs.forEach(({ nodeId, sessionId, ending }, i) => {
      const type = `t${i}`;
      const asker = { nodeId, sessionId };
      const error = ending === 'delete' ? LONGEST_ERROR : 'boom';
      const release = { kind: 'release', type, asker, success: ending === 'update', fatal: true } as const;
      const commands: Command[] = [{ kind: 'acquire', type, asker, subtype: 'gold', leaseMs: MAX_LEASE_MS }];
      if (ending !== 'pull')
        commands.push(release.success ? { ...release, error: '', fatal: false } : { ...release, error });
      for (const command of commands)
        state = settle(combine(state, [command], NOW_MS, DEFAULT_POLICY).state, Number.MAX_SAFE_INTEGER - 1);
    });
    return state;
  }

  const headOf = (state: ResourceState) =>
    encodeRecord('layer', NO_RECORD, state, { commitId: 'x'.repeat(22), events: [], othersRead: false });

  it('of a record without lists is put into words when somebody wants it, always the same', () => {
    fc.assert(
      fc.property(fc.array(run, { minLength: 1, maxLength: 12 }), (runs) => {
        const state = stateAfter(runs);
        const { head, spilled } = headOf(state);
        const text = head!.toString();
        expect(text.length).toBeLessThanOrEqual(head!.length);
        expect(head!.toString()).toBe(text);
        if (spilled.length === 0) expect(plain(recordOfHead('layer', text, 9).state)).toEqual(plain(state));
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['many keys with short names', 12, 'a'],
    ['names that are six times as long as JSON', 1, '\u0001'.repeat(256)],
  ])('takes no more than it says it may, with %s', (_, count, nodeId) => {
    for (const ending of ['pull', 'update', 'scan']) {
      const { head } = headOf(stateAfter(Array.from({ length: count }, () => ({ nodeId, ending }))));
      expect(typeof head).toBe('object');
      expect(head!.toString().length).toBeLessThanOrEqual(head!.length);
    }
  });

  it('is not put into words for one who holds a lock or has released it', () => {
    for (const ending of ['pull', 'update', 'scan'])
      expect(typeof headOf(stateAfter([{ nodeId: 'node', sessionId: 'session', ending }])).head).toBe(
        'object',
      );
  });

  it('is known word by word where it has lists, or may not fit', () => {
    const { state } = combine(EMPTY_STATE, arrivals('scan', 2, 8), 0, DEFAULT_POLICY);
    expect(typeof headOf(state).head).toBe('string');
    const many = Array.from({ length: 60 }, () => ({ nodeId: 'node', ending: 'delete' }));
    const { head, writes } = headOf(stateAfter(many));
    expect(typeof head).toBe('string');
    expect(writes.length).toBeGreaterThan(60);
  });
});
