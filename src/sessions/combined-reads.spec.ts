import { describe, expect, it } from 'vitest';
import { type Item } from '../stores/state-store.interface.js';
import { CombinedReads } from './combined-reads.js';

const item = (key: string): Item => ({ key, revision: 1, value: `of ${key}` });

/** Answers when it is told to. */
class SlowStore {
  readonly asked: string[] = [];
  private readonly answers: (() => void)[] = [];
  private readonly failures: ((error: Error) => void)[] = [];

  get(partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    this.asked.push(`${partition}: ${keys.join(' ')}`);
    return new Promise((resolve, reject) => {
      this.answers.push(() => resolve(keys.map((key) => (key === 'none' ? undefined : item(key)))));
      this.failures.push(reject);
    });
  }

  async answer(): Promise<void> {
    this.failures.shift();
    this.answers.shift()!();
    await Promise.resolve().then(() => undefined);
  }

  fail(): void {
    this.answers.shift();
    this.failures.shift()!(new Error('the engine is away'));
  }
}

describe('CombinedReads', () => {
  it('reads at once, and what is asked for meanwhile together, afterwards', async () => {
    const store = new SlowStore();
    const reads = new CombinedReads(store);
    const first = reads.get(0, 'a');
    const others = ['a', 'b', 'none'].map((key) => reads.get(0, key));
    expect(store.asked).toEqual(['0: a']);
    await store.answer();
    expect(await first).toEqual(item('a'));
    expect(store.asked, 'what was asked for meanwhile may have changed since').toEqual([
      '0: a',
      '0: a b none',
    ]);
    await store.answer();
    expect(await Promise.all(others)).toEqual([item('a'), item('b'), undefined]);
  });

  it('does not have one partition wait for another', () => {
    const store = new SlowStore();
    const reads = new CombinedReads(store);
    void reads.get(0, 'a');
    void reads.get(1, 'b');
    expect(store.asked).toEqual(['0: a', '1: b']);
  });

  it('tells those who were asking of a failure, and reads on for the others', async () => {
    const store = new SlowStore();
    const reads = new CombinedReads(store);
    const first = reads.get(0, 'a');
    const second = reads.get(0, 'b');
    store.fail();
    await expect(first).rejects.toThrow('the engine is away');
    await store.answer();
    expect(await second).toEqual(item('b'));
    const third = reads.get(0, 'c');
    await store.answer();
    expect(await third).toEqual(item('c'));
    expect(store.asked).toEqual(['0: a', '0: b', '0: c']);
  });
});
