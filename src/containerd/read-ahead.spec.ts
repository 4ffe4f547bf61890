import { describe, expect, it } from 'vitest';
import { type ContentStore } from '../content/index.js';
import { ReadAhead } from './read-ahead.js';

const MB = 1 << 20;

/** Blobs whose every byte says which megabyte it is in. */
class CountingStore {
  reads = 0;
  failure: Error | undefined;
  readonly memories = new Set<Buffer>();

  async read(digest: string, offset: number, length: number, memory = Buffer.alloc(length)): Promise<Buffer> {
    this.reads++;
    this.memories.add(memory);
    if (this.failure) throw this.failure;
    const size = Number(digest);
    const bytes = memory.subarray(0, Math.max(0, Math.min(length, size - offset)));
    for (let at = 0; at < bytes.length; at++) bytes[at] = (offset + at) >> 20;
    return bytes;
  }

  forget(): void {}
}

const setUp = () => {
  const store = new CountingStore();
  return { store, ahead: new ReadAhead(store as unknown as ContentStore) };
};

describe('reading ahead', () => {
  it('reads the disk once for each megabyte, in memory that is used again', async () => {
    const { store, ahead } = setUp();
    for (let at = 0; at < 20 * MB; at += 32_768) {
      const { data, release } = await ahead.read(String(20 * MB), at, 32_768);
      expect(data).toHaveLength(32_768);
      expect(data[100]).toBe(at >> 20);
      release();
    }
    expect(store.reads).toBe(21);
    expect(store.memories.size).toBeLessThanOrEqual(4);
  });

  it('what is not released stays as it is, however much is read meanwhile', async () => {
    const { ahead } = setUp();
    const kept = await ahead.read(String(50 * MB), 0, 32_768);
    for (let at = MB; at < 40 * MB; at += MB) {
      for (const length of [1000, MB]) (await ahead.read(String(50 * MB), at, length)).release();
    }
    ahead.forget(String(50 * MB));
    (await ahead.read(String(50 * MB), 10 * MB, 1000)).release();
    expect(kept.data.every((byte) => byte === 0)).toBe(true);
  });

  it.each([32_768, 5 * MB])(
    'many that are slow to be released, of %i bytes, get small pieces',
    async (length) => {
      const { store, ahead } = setUp();
      const leases = [];
      for (let n = 0; n < 300; n++) leases.push(await ahead.read(String(400 * MB), n * MB, length));
      const taken = [...store.memories].reduce((sum, memory) => sum + memory.length, 0);
      expect(taken).toBeLessThan(80 * MB);
      leases.forEach(({ data }, n) => expect([data.length > 0, data[0]]).toEqual([true, n & 0xff]));
      for (const { release } of leases) release();
      await Promise.resolve();
      expect((await ahead.read(String(50 * MB), 0, MB)).data).toHaveLength(MB);
    },
  );

  it('at the end there is less, and then nothing', async () => {
    const { ahead } = setUp();
    expect((await ahead.read('1500', 1000, 32_768)).data).toHaveLength(500);
    expect((await ahead.read('1500', 1500, 32_768)).data).toHaveLength(0);
    expect((await ahead.read('1500', 0, 5 * MB)).data).toHaveLength(1500);
  });

  it('after an error the disk is asked again', async () => {
    const { store, ahead } = setUp();
    store.failure = new Error('EIO');
    await expect(ahead.read('1000', 0, 10)).rejects.toThrow('EIO');
    store.failure = undefined;
    expect((await ahead.read('1000', 0, 10)).data).toHaveLength(10);
  });
});
