import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../test/support/simulated-clock.js';
import { Deadlines, type Due } from './deadlines.js';

class Task implements Due {
  dueIndex = -1;
  reads = 0;
  private at = Infinity;

  constructor(readonly name: string) {}

  get dueAtMs(): number {
    this.reads++;
    return this.at;
  }

  set dueAtMs(atMs: number) {
    this.at = atMs;
  }
}

function watching(clock: SimulatedClock) {
  const fired: { name: string; atMs: number }[] = [];
  const deadlines = new Deadlines<Task>(clock, ({ name }) => fired.push({ name, atMs: clock.monotonicMs() }));
  return { deadlines, fired };
}

const TASKS = 30;

describe('Deadlines that are paused', () => {
  it('stand still, and then have what was left of their time', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    deadlines.schedule(new Task('early'), 1000);
    await clock.advance(600);
    deadlines.pause();
    deadlines.schedule(new Task('late'), deadlines.now() + 700);
    await clock.advance(10_000);
    expect([fired, clock.pendingTimers]).toEqual([[], 0]);
    deadlines.resume();
    await clock.advance(399);
    expect(fired).toEqual([]);
    await clock.advance(301);
    expect(fired).toEqual([
      { name: 'early', atMs: 11_000 },
      { name: 'late', atMs: 11_300 },
    ]);
  });

  it('are late by their jitter, and never early', async () => {
    const clock = new SimulatedClock();
    const fired: number[] = [];
    const chances = [0.5, 0.25, 0];
    const jitter = () => 100 * chances.shift()!;
    const deadlines = new Deadlines<Task>(clock, () => fired.push(clock.monotonicMs()), jitter);
    for (let i = 0; i < 3; i++) deadlines.schedule(new Task(String(i)), 1000);
    await clock.advance(2000);
    expect(fired).toEqual([1000, 1025, 1050]);
  });
});

type Step = { readonly task: number; readonly atMs: number } | { readonly passMs: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ task: fc.nat(TASKS - 1), atMs: fc.nat(5000) }), weight: 4 },
    { arbitrary: fc.record({ task: fc.nat(TASKS - 1), atMs: fc.constant(Infinity) }), weight: 2 },
    { arbitrary: fc.record({ passMs: fc.nat(700) }), weight: 1 },
  ),
  { maxLength: 150, size: 'max' },
);

describe('Deadlines', { timeout: 20_000 }, () => {
  it('moves up what takes the place of something cancelled in a later branch', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    const tasks = [1, 100, 2, 200, 300, 3].map((atMs) => ({ task: new Task(String(atMs)), atMs }));
    for (const { task, atMs } of tasks) deadlines.schedule(task, atMs);
    deadlines.schedule(tasks[3]!.task, Infinity);
    await clock.advance(400);
    expect(fired.map(({ name, atMs }) => [name, atMs])).toEqual([
      ['1', 1],
      ['2', 2],
      ['3', 3],
      ['100', 100],
      ['300', 300],
    ]);
  });

  it('fires as a sorted list would, through every rescheduling and cancelling', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const clock = new SimulatedClock();
        const { deadlines, fired } = watching(clock);
        const tasks = Array.from({ length: TASKS }, (_, name) => new Task(String(name)));
        const model = new Map<string, number>();
        const expected: { name: string; atMs: number }[] = [];
        deadlines.schedule(new Task('keeps time going'), 1e9);
        for (const step of history) {
          if ('task' in step) {
            const { name } = tasks[step.task]!;
            deadlines.schedule(tasks[step.task]!, step.atMs);
            if (step.atMs === Infinity) model.delete(name);
            else model.set(name, step.atMs);
          } else {
            const from = clock.monotonicMs();
            await clock.advance(step.passMs);
            const due = [...model].filter(([, atMs]) => atMs <= clock.monotonicMs());
            for (const [name, atMs] of due) {
              model.delete(name);
              expected.push({ name, atMs: Math.max(atMs, from) });
            }
          }
          expect(deadlines.size).toBe(model.size + 1);
          expect(clock.pendingTimers, 'one timer').toBe(1);
        }
        const order = (a: { atMs: number; name: string }, b: { atMs: number; name: string }) =>
          a.atMs - b.atMs || a.name.localeCompare(b.name);
        expect(fired.map(({ atMs }) => atMs)).toEqual(fired.map(({ atMs }) => atMs).sort((a, b) => a - b));
        expect(fired.sort(order)).toEqual(expected.sort(order));
      }),
      { numRuns: 100 },
    );
  });

  it('costs the same with sixty thousand deadlines as with a few, but for a logarithm', () => {
    const { deadlines } = watching(new SimulatedClock());
    const tasks = Array.from({ length: 60_000 }, (_, i) => new Task(String(i)));
    for (const [i, task] of tasks.entries()) deadlines.schedule(task, 1000 + ((i * 7919) % 60_000));
    for (const task of tasks) task.reads = 0;
    for (let i = 0; i < 100; i++) deadlines.schedule(tasks[i * 599]!, i % 2 ? 500 + i : 1e6 + i);
    const reads = tasks.reduce((sum, task) => sum + task.reads, 0);
    expect(reads / 100).toBeLessThan(4 * Math.log2(60_000));
  });

  it('does not count time in which the process was stopped', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    deadlines.schedule(new Task('lease'), deadlines.now() + 10_000);
    await clock.advance(4000);
    await clock.pause(3_600_000);
    expect(fired).toEqual([]);
    await clock.advance(5000);
    expect(fired).toEqual([]);
    await clock.advance(1000);
    expect(fired).toHaveLength(1);
  });

  it('does not count the time before anything had a deadline', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    await clock.advance(60_000);
    deadlines.schedule(new Task('lease'), deadlines.now() + 1000);
    await clock.advance(999);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toHaveLength(1);
  });

  it('loses nothing to a timer that is a little late', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    deadlines.schedule(new Task('lease'), deadlines.now() + 2000);
    for (let late = 0; late < 4; late++) await clock.pause(500);
    expect(fired).toHaveLength(1);
  });

  it('is never moved by the wall clock', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    deadlines.schedule(new Task('lease'), deadlines.now() + 1000);
    clock.setWall(clock.wallMs() + 365 * 86_400_000);
    await clock.advance(999);
    clock.setWall(0);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toHaveLength(1);
  });

  it('keeps no timer when nothing has a deadline, and none after it was stopped', async () => {
    const clock = new SimulatedClock();
    const { deadlines, fired } = watching(clock);
    const task = new Task('lease');
    deadlines.schedule(task, 1000);
    deadlines.schedule(task, Infinity);
    await clock.advance(250);
    expect(clock.pendingTimers).toBe(0);
    deadlines.schedule(task, 2000);
    deadlines.stop();
    deadlines.schedule(new Task('another'), 500);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(5000);
    expect(fired).toEqual([]);
  });
});
