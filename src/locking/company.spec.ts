import { describe, expect, it } from 'vitest';
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
      expect(company.join()).toBeUndefined();
      await next();
    }
  });

  it('that comes second in its turn waits for the end of it', async () => {
    const { company, next } = scene();
    void company.join();
    let isOver = false;
    void company.join()!.then(() => (isOver = true));
    await settled();
    expect(isOver).toBe(false);
    await next();
    expect(isOver).toBe(true);
  });

  it('that comes first waits, too, where the turn before brought several', async () => {
    const { company, next } = scene();
    void company.join();
    void company.join();
    await next();
    expect(company.join()).toBeInstanceOf(Promise);
    await next();
    expect(company.join()).toBeUndefined();
  });
});
