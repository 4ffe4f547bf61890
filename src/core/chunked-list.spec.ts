import { describe, expect, it } from 'vitest';
import { type Asker, askerKey, ChunkedList, type EntryShape, sameAsker } from './chunked-list.js';
import { CHUNK_BYTES } from './limits.js';

interface Entry extends Asker {
  readonly note: { readonly revision: number };
}

const ENTRY_BYTES = CHUNK_BYTES / 4;

/** Four entries fill a chunk; an entry that shares its note with the one before it costs half. */
const shape: EntryShape<Entry> = {
  bytes: (entry, previous) => (previous?.note === entry.note ? ENTRY_BYTES / 2 : ENTRY_BYTES),
  settle: (entry, revision, previous) => ({
    ...entry,
    note: previous?.marked.note === entry.note ? previous.settled.note : { revision },
  }),
};

function entry(nodeId: string, note = { revision: 0 }): Entry {
  return { nodeId, sessionId: undefined, note };
}

/** A settled list of n0, n1, … */
function listOf(count: number) {
  let id = 0;
  const newChunkId = () => ++id;
  const entries = Array.from({ length: count }, (_, i) => entry(`n${i}`));
  const list = ChunkedList.empty(shape).appendAll(entries, newChunkId).settle(7);
  return { list, newChunkId };
}

const names = (list: ChunkedList<Entry>) => Array.from(list, ({ nodeId }) => nodeId);
const layout = (list: ChunkedList<Entry>) =>
  list.chunks.map(({ id, revision, entries }) => ({ id, revision, nodes: entries.map((e) => e.nodeId) }));

describe('a chunked list', () => {
  it('is cut into chunks as it grows, in order of arrival', () => {
    const { list } = listOf(10);
    expect(list.size).toBe(10);
    expect(layout(list)).toEqual([
      { id: 1, revision: 7, nodes: ['n0', 'n1', 'n2', 'n3'] },
      { id: 2, revision: 7, nodes: ['n4', 'n5', 'n6', 'n7'] },
      { id: 3, revision: 7, nodes: ['n8', 'n9'] },
    ]);
    expect(list.first?.nodeId).toBe('n0');
  });

  it('measures an entry by the one before it in its chunk', () => {
    const note = { revision: 0 };
    const entries = Array.from({ length: 9 }, (_, i) => entry(`n${i}`, note));
    const list = ChunkedList.empty(shape).appendAll(entries, () => 1);
    expect(list.chunks.map(({ entries: { length }, bytes }) => [length, bytes / ENTRY_BYTES])).toEqual([
      [7, 4],
      [2, 1.5],
    ]);
  });

  it('appends to the last chunk alone, and leaves the other chunks the same objects', () => {
    const { list, newChunkId } = listOf(6);
    const longer = list.append(entry('new'), newChunkId);
    expect(longer.chunks[0]).toBe(list.chunks[0]);
    expect(longer.chunks[1]).toMatchObject({ id: 2, revision: 0 });
    expect(names(list)).toHaveLength(6);
    expect(longer.size).toBe(7);
  });

  it('opens a new chunk when the last is full, and leaves that one the same object', () => {
    const { list, newChunkId } = listOf(4);
    const longer = list.append(entry('new'), newChunkId);
    expect(longer.chunks[0]).toBe(list.chunks[0]);
    expect(longer.chunks[1]).toMatchObject({ id: 2, revision: 0, bytes: ENTRY_BYTES });
  });

  it('is the same list when nothing is appended', () => {
    const { list, newChunkId } = listOf(3);
    expect(list.appendAll([], newChunkId)).toBe(list);
  });

  it('finds an asker in any chunk, by node and session', () => {
    const { list } = listOf(10);
    for (let i = 0; i < 10; i++) {
      expect(list.find({ nodeId: `n${i}` })?.nodeId).toBe(`n${i}`);
      expect(list.rank({ nodeId: `n${i}` })).toBe(i);
      expect(list.has({ nodeId: `n${i}`, sessionId: 's' })).toBe(false);
    }
    expect(list.has({ nodeId: 'nobody' })).toBe(false);
    expect(list.rank({ nodeId: 'nobody' })).toBe(10);
  });

  it('removes from one chunk, whose room is not used again', () => {
    const { list, newChunkId } = listOf(8);
    const shorter = list.remove({ nodeId: 'n5' });
    expect(shorter.size).toBe(7);
    expect(shorter.chunks[0]).toBe(list.chunks[0]);
    expect(shorter.chunks[1]).toMatchObject({ id: 2, revision: 0, bytes: CHUNK_BYTES });
    expect(shorter.append(entry('new'), newChunkId).chunks).toHaveLength(3);
    expect(names(list)).toHaveLength(8);
  });

  it('drops a chunk with its last entry', () => {
    const { list } = listOf(5);
    expect(list.remove({ nodeId: 'n4' }).chunks).toHaveLength(1);
  });

  it('is the same list when somebody who is not in it is removed', () => {
    const { list } = listOf(5);
    expect(list.remove({ nodeId: 'nobody' })).toBe(list);
  });

  it('replaces in place', () => {
    const { list } = listOf(6);
    const note = { revision: 1 };
    const changed = list.replace(entry('n1', note));
    expect(names(changed)).toEqual(names(list));
    expect(changed.find({ nodeId: 'n1' })?.note).toBe(note);
    expect(changed.size).toBe(6);
    expect(changed.chunks[0]!.revision).toBe(0);
    expect(changed.chunks[1]).toBe(list.chunks[1]);
  });

  it.each([
    [0, 'n0'],
    [1, 'n1'],
    [4, 'n4'],
    [6, 'n6'],
    [8, 'n8'],
    [10, undefined],
  ])('drops %i from the front and starts with %s', (count, first) => {
    const { list } = listOf(10);
    const shorter = list.dropWhile(({ nodeId }) => Number(nodeId.slice(1)) < count);
    expect(shorter.size).toBe(10 - count);
    expect(shorter.first?.nodeId).toBe(first);
    expect(names(shorter)).toEqual(names(list).slice(count));
    expect(shorter === list).toBe(count === 0);
  });

  it('rewrites only the chunk in which dropping stops', () => {
    const { list } = listOf(10);
    const shorter = list.dropWhile(({ nodeId }) => nodeId < 'n6');
    expect(layout(shorter)).toEqual([
      { id: 2, revision: 0, nodes: ['n6', 'n7'] },
      { id: 3, revision: 7, nodes: ['n8', 'n9'] },
    ]);
    expect(shorter.chunks[1]).toBe(list.chunks[2]);
  });

  it('settles the chunks of this commit and leaves the others', () => {
    const { list, newChunkId } = listOf(5);
    expect(list.settle(8)).toBe(list);
    const settled = list.append(entry('new'), newChunkId).settle(9);
    expect(settled.chunks[0]).toBe(list.chunks[0]);
    expect(settled.chunks[1]!.revision).toBe(9);
    expect(settled.find({ nodeId: 'new' })?.note).toEqual({ revision: 9 });
  });

  it('keeps shared what was shared when it settles', () => {
    const [one, other] = [{ revision: 0 }, { revision: 0 }];
    const list = ChunkedList.empty(shape)
      .appendAll([entry('a', one), entry('b', one), entry('c', other)], () => 1)
      .settle(3);
    const [a, b, c] = [...list];
    expect(a!.note).toBe(b!.note);
    expect(b!.note).not.toBe(c!.note);
  });

  it('can be put together from stored chunks', () => {
    const { list } = listOf(6);
    const loaded = ChunkedList.of(shape, list.chunks);
    expect(loaded.size).toBe(6);
    expect(names(loaded)).toEqual(names(list));
  });
});

describe('an asker', () => {
  it('is node and session together', () => {
    expect(sameAsker({ nodeId: 'a' }, { nodeId: 'a', sessionId: undefined })).toBe(true);
    expect(sameAsker({ nodeId: 'a', sessionId: 's' }, { nodeId: 'a' })).toBe(false);
    expect(sameAsker({ nodeId: 'a', sessionId: 's' }, { nodeId: 'b', sessionId: 's' })).toBe(false);
  });

  it('has a key of its own', () => {
    const keys = [{ nodeId: 'ab' }, { nodeId: 'a', sessionId: 'b' }, { nodeId: 'ab', sessionId: '' }];
    expect(new Set(keys.map(askerKey)).size).toBe(3);
  });
});
