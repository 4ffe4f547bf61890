import { describe, expect, it } from 'vitest';
import { ReadMemory } from './read-memory.js';

const MB = 1 << 20;

describe('ReadMemory', () => {
  it('collects once for every 4 MB', () => {
    let collected = 0;
    const memory = new ReadMemory(() => collected++);
    for (let n = 0; n < 11; n++) memory.received(MB);
    expect(collected).toBe(2);
  });

  it('frees what nobody looks at any more', async () => {
    const memory = new ReadMemory();
    memory.received(4 * MB);
    const { arrayBuffers: before } = process.memoryUsage();
    for (let n = 0; n < 256; n++) Buffer.allocUnsafeSlow(64 * 1024).fill(1);
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(12 * MB);
    memory.received(4 * MB);
    await expect.poll(() => process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * MB);
  });
});
