import { afterEach, expect, it, vi } from 'vitest';
import { SystemClock } from './clock.js';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('the system clock goes on while the machine sleeps, and never back', () => {
  const wall = vi.spyOn(Date, 'now').mockReturnValue(1_000_000);
  const running = vi.spyOn(performance, 'now').mockReturnValue(500);
  const clock = new SystemClock();
  expect(clock.monotonicMs()).toBe(500);
  wall.mockReturnValue(1_060_010);
  running.mockReturnValue(510);
  expect(clock.monotonicMs()).toBe(60_510);
  wall.mockReturnValue(900_000);
  running.mockReturnValue(520);
  expect(clock.monotonicMs()).toBe(60_520);
  wall.mockReturnValue(900_050);
  running.mockReturnValue(530);
  expect(clock.monotonicMs()).toBe(60_530);
});

it('never calls back before the time has passed, fractions included', async () => {
  const clock = new SystemClock();
  const early = Array.from({ length: 400 }, (_, n) => {
    const delayMs = 5 + n / 40;
    const startedMs = clock.monotonicMs();
    return new Promise<number>((resolve) => {
      clock.after(delayMs, () => resolve(startedMs + delayMs - clock.monotonicMs()));
    });
  });
  expect(Math.max(...(await Promise.all(early)))).toBeLessThanOrEqual(0);
});

it.each([2 ** 31, 2 ** 33, Infinity])('waits for %d ms, which no single timer can', (delayMs) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const callback = vi.fn();
  const cancel = new SystemClock().after(delayMs, callback);
  vi.advanceTimersByTime(Math.min(delayMs, 2 ** 34));
  expect(callback).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(callback).toHaveBeenCalledTimes(delayMs === Infinity ? 0 : 1);
  cancel();
  expect(vi.getTimerCount()).toBe(0);
});
