import { expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../test/support/simulated-clock.js';
import { HeldLock } from './hold.js';
import { LockErrors } from './lock-errors.js';
import { Runner } from './run-once.js';
import { Session } from './session.js';

it('work that nobody wants any more is not begun, however late that became known', async () => {
  const clock = new SimulatedClock();
  const hold = new HeldLock('update', 'r', 1, new Session('s', 60_000, '', 0), clock, vi.fn());
  const aborter = new AbortController();
  const unlock = vi.fn(() => Promise.resolve());
  const lock = () => {
    queueMicrotask(() => aborter.abort(new Error('enough')));
    return Promise.resolve({ hold });
  };
  const work = vi.fn();
  const { signal } = aborter;
  const runner = new Runner({ lock, unlock }, clock, new LockErrors(() => ''));
  const run = runner.run({ type: 'update', resourceId: 'r' }, work, { signal });
  await expect(run).rejects.toThrow('enough');
  await vi.waitFor(() =>
    expect(unlock).toHaveBeenCalledWith(hold, expect.objectContaining({ success: false })),
  );
  expect(work).not.toHaveBeenCalled();
});
