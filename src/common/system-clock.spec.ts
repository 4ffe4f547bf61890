import { expect, it } from 'vitest';
import { SystemClock } from './system-clock.js';

it('ends a turn when what arrived with it has been read, and then begins another', async () => {
  const clock = new SystemClock();
  const order: string[] = [];
  const turn = clock.turn().then(() => order.push('turn'));
  process.nextTick(() => void clock.turn().then(() => order.push('same turn')));
  await Promise.resolve().then(() => order.push('read'));
  await turn;
  await Promise.resolve();
  expect(order).toEqual(['read', 'turn', 'same turn']);
  const next = clock.turn();
  expect(next).toBe(clock.turn());
  await next;
});
