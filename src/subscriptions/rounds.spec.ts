import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../test/support/simulated-clock.js';
import { Rounds } from './rounds.js';

function visits(periodMs: number) {
  const clock = new SimulatedClock();
  const seen: [string, number][] = [];
  const rounds = new Rounds<string>(clock, periodMs, (name) => seen.push([name, clock.monotonicMs()]));
  return { clock, seen, rounds };
}

describe('Rounds', () => {
  it('visits each member a period after it was added, and then every period', async () => {
    const { clock, seen, rounds } = visits(100);
    rounds.add('a');
    await clock.advance(30);
    rounds.add('b');
    await clock.advance(230);
    expect(seen).toEqual([
      ['a', 100],
      ['b', 130],
      ['a', 200],
      ['b', 230],
    ]);
  });

  it('needs one timer for any number of members, and none for none', async () => {
    const { clock, rounds } = visits(100);
    for (let n = 0; n < 1000; n++) rounds.add(`member ${n}`);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(250);
    expect(clock.pendingTimers).toBe(1);
    for (let n = 0; n < 1000; n++) rounds.delete(`member ${n}`);
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not visit a member again that is deleted, also during its own visit', async () => {
    const clock = new SimulatedClock();
    const seen: string[] = [];
    const rounds: Rounds<string> = new Rounds(clock, 100, (name) => {
      seen.push(name);
      rounds.delete(name);
    });
    rounds.add('a');
    await clock.advance(50);
    rounds.add('b');
    await clock.advance(500);
    expect(seen).toEqual(['a', 'b']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('visits a member added during the last visit of another', async () => {
    const clock = new SimulatedClock();
    const seen: [string, number][] = [];
    const rounds: Rounds<string> = new Rounds(clock, 100, (name) => {
      seen.push([name, clock.monotonicMs()]);
      rounds.delete(name);
      if (name === 'a') rounds.add('b');
    });
    rounds.add('a');
    await clock.advance(500);
    expect(seen).toEqual([
      ['a', 100],
      ['b', 200],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('visits once, not once for each period, after the process was stopped', async () => {
    const { clock, seen, rounds } = visits(100);
    rounds.add('a');
    await clock.pause(1000);
    expect(seen).toEqual([['a', 1000]]);
    await clock.advance(100);
    expect(seen).toHaveLength(2);
  });
});
