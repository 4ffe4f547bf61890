import { expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../test/support/simulated-clock.js';
import { WaitTimeoutError } from './errors.js';
import { SharedRuns } from './shared-runs.js';

const KEY = { type: 'update', resourceId: 'r' };

function scene() {
  const clock = new SimulatedClock();
  const runs = new SharedRuns<number>(clock);
  let finish!: (value: number) => void;
  let begin!: () => void;
  let deserted!: AbortSignal;
  const start = vi.fn((signal: AbortSignal, onBegin: () => void) => {
    deserted = signal;
    begin = onBegin;
    return new Promise<number>((resolve) => (finish = resolve));
  });
  const join = (waitMs?: number) => runs.join('x', { waitMs }, start, (ms) => new WaitTimeoutError(ms, KEY));
  return {
    clock,
    join,
    start,
    begin: () => begin(),
    finish: () => finish(7),
    isDeserted: () => deserted.aborted,
  };
}

it('the time limit of one who shares a run ends nobody else’s wait', async () => {
  const { clock, join, start, finish, isDeserted } = scene();
  const [hasty, patient] = [join(300), join()];
  const leaving = expect(hasty).rejects.toBeInstanceOf(WaitTimeoutError);
  await clock.advance(300);
  await leaving;
  expect(isDeserted()).toBe(false);
  finish();
  expect(await patient).toBe(7);
  expect(start).toHaveBeenCalledTimes(1);
});

it('who joins has a time limit of their own', async () => {
  const { clock, join, isDeserted } = scene();
  void join();
  const leaving = expect(join(300)).rejects.toBeInstanceOf(WaitTimeoutError);
  await clock.advance(300);
  await leaving;
  expect(isDeserted()).toBe(false);
});

it('a run is deserted when the last time limit is over', async () => {
  const { clock, join, isDeserted } = scene();
  const leaving = Promise.allSettled([join(300), join(400)]);
  await clock.advance(399);
  expect(isDeserted()).toBe(false);
  await clock.advance(1);
  await leaving;
  expect(isDeserted()).toBe(true);
});

it('work that has begun is not bound by the limit of the wait', async () => {
  const { clock, join, begin, finish } = scene();
  const runs = [join(300)];
  begin();
  runs.push(join(300));
  await clock.advance(1000);
  finish();
  expect(await Promise.all(runs)).toEqual([7, 7]);
  expect(clock.pendingTimers).toBe(0);
});
