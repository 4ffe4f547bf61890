import { describe, expect, it } from 'vitest';
import { gate } from '../../test/refcount/gate.js';
import { SerialByKey } from './serial-by-key.js';

describe('SerialByKey', () => {
  it('runs the tasks of one key one after another, in order', async () => {
    const turns = new SerialByKey();
    const first = gate();
    const seen: string[] = [];
    const running = turns.run('key', async () => {
      await first.passed;
      seen.push('first');
    });
    const waiting = turns.run('key', async () => void seen.push('second'));
    await turns.run('other', async () => void seen.push('other'));
    first.open();
    await Promise.all([running, waiting]);
    expect(seen).toEqual(['other', 'first', 'second']);
  });

  it('makes a newcomer wait for a task that itself had to wait', async () => {
    const turns = new SerialByKey();
    const third = gate();
    const seen: string[] = [];
    await Promise.all([
      turns.run('key', async () => void seen.push('first')),
      turns.run('key', async () => {
        setImmediate(() => void turns.run('key', async () => void seen.push('third')).then(third.open));
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        seen.push('second');
      }),
    ]);
    await third.passed;
    expect(seen).toEqual(['first', 'second', 'third']);
  });

  it('goes on after a task that failed, and tells only its own caller', async () => {
    const turns = new SerialByKey();
    const failed = turns.run('key', () => Promise.reject(new Error('mine')));
    const next = turns.run('key', async () => 'done');
    await expect(failed).rejects.toThrow('mine');
    await expect(next).resolves.toBe('done');
  });

  it('forgets a key when its last task is over', async () => {
    const turns = new SerialByKey();
    const tasks = [
      turns.run('a', async () => 1),
      turns.run('a', async () => 2),
      turns.run('b', async () => 3),
    ];
    expect(turns.size).toBe(2);
    await Promise.all(tasks);
    expect(turns.size).toBe(0);
  });
});
