import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { type Asker, ChunkedList, type EntryShape, sameAsker } from '../../src/core/chunked-list.js';
import { CHUNK_BYTES } from '../../src/core/limits.js';

interface Entry extends Asker {
  readonly weight: number;
  readonly revision: number;
}

const shape: EntryShape<Entry> = {
  bytes: ({ weight }) => weight,
  settle: (entry, revision) => (entry.revision === 0 ? { ...entry, revision } : entry),
};

export type Change =
  | { readonly kind: 'append'; readonly weights: readonly number[] }
  | { readonly kind: 'remove' | 'replace' | 'drop'; readonly at: number }
  | { readonly kind: 'settle' };

export const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constant('append' as const),
    weights: fc.array(fc.integer({ min: 1, max: CHUNK_BYTES / 2 }), { maxLength: 12 }),
  }),
  fc.record({
    kind: fc.constantFrom('remove' as const, 'replace' as const, 'drop' as const),
    at: fc.nat(20),
  }),
  fc.record({ kind: fc.constant('settle' as const) }),
);

/** The same list twice: in chunks, and as the plain array it stands for. */
export class TwoLists {
  private chunked = ChunkedList.empty(shape);
  private plain: Entry[] = [];
  private lastId = 0;
  private nextNode = 0;
  private revision = 1;

  apply(change: Change): void {
    const before = this.chunked;
    const contents = [...before];
    switch (change.kind) {
      case 'append': {
        const entries = change.weights.map((weight) => ({ ...this.newAsker(), weight, revision: 0 }));
        this.chunked = before.appendAll(entries, () => ++this.lastId);
        this.plain.push(...entries);
        break;
      }
      case 'settle':
        this.revision++;
        this.chunked = before.settle(this.revision);
        this.plain = this.plain.map((entry) => shape.settle(entry, this.revision));
        break;
      case 'drop': {
        const dropped = new Set(contents.slice(0, change.at));
        this.chunked = before.dropWhile((entry) => dropped.has(entry));
        this.plain.splice(0, change.at);
        break;
      }
      default:
        this.changeOne(change.kind, change.at);
    }
    assert.deepEqual([...before], contents, 'a list does not change');
  }

  verify(): void {
    assert.deepEqual([...this.chunked], this.plain);
    assert.equal(this.chunked.size, this.plain.length);
    assert.equal(this.chunked.first, [...this.chunked][0]);
    for (const [index, entry] of this.plain.entries()) {
      assert.deepEqual(this.chunked.find(entry), entry);
      assert.equal(this.chunked.rank(entry), index);
    }
    for (const { entries, bytes } of this.chunked.chunks) {
      assert(entries.length > 0, 'no chunk is empty');
      const stored = entries.reduce((sum, { weight }) => sum + weight, 0);
      assert(stored <= bytes && bytes <= CHUNK_BYTES, 'no chunk is too large');
    }
    const ids = this.chunked.chunks.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, 'chunks have names of their own');
  }

  private changeOne(kind: 'remove' | 'replace', at: number): void {
    const index = this.plain.length === 0 ? -1 : at % this.plain.length;
    const target = this.plain[index] ?? { ...this.newAsker(), weight: 1, revision: 0 };
    const changed = { ...target, revision: 0 };
    this.chunked = kind === 'remove' ? this.chunked.remove(target) : this.chunked.replace(changed);
    const same = (entry: Entry) => sameAsker(entry, target);
    if (kind === 'remove') this.plain = this.plain.filter((entry) => !same(entry));
    else this.plain = this.plain.map((entry) => (same(entry) ? changed : entry));
  }

  private newAsker(): Asker {
    const node = this.nextNode++;
    return { nodeId: `n${node >> 1}`, sessionId: node % 2 === 0 ? undefined : 's' };
  }
}
