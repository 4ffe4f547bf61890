import { describe, expect, it, vi } from 'vitest';
import { settled } from '../../test/support/simulated-clock.js';
import { Company } from './company.js';

/** Turns end when the test says so. */
function scene() {
  let end = () => {};
  let turn: Promise<void> | undefined;
  const clock = { turn: () => (turn ??= new Promise((resolve) => (end = resolve))) };
  const company = new Company(clock);
  const next = async () => {
    turn = undefined;
    end();
    await settled();
  };
  return { company, next };
}

describe('a command', () => {
  it('that comes alone waits for nobody', async () => {
    const { company, next } = scene();
    for (let turns = 0; turns < 3; turns++) {
      const begin = vi.fn();
      company.join(begin);
      await settled();
      expect(begin).toHaveBeenCalledOnce();
      await next();
    }
  });

  it('that comes second in its turn waits for the end of it', async () => {
    const { company, next } = scene();
    const begin = vi.fn();
    company.join(() => undefined);
    company.join(begin);
    await settled();
    expect(begin).not.toHaveBeenCalled();
    await next();
    expect(begin).toHaveBeenCalledOnce();
  });

  it('that comes first waits, too, where the turn before brought several', async () => {
    const { company, next } = scene();
    company.join(() => undefined);
    company.join(() => undefined);
    await next();
    const [second, third] = [vi.fn(), vi.fn()];
    company.join(second);
    await settled();
    expect(second).not.toHaveBeenCalled();
    await next();
    company.join(third);
    await settled();
    expect([second.mock.calls.length, third.mock.calls.length]).toEqual([1, 1]);
  });
});
