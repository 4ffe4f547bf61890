import fc from 'fast-check';
import { describe, it } from 'vitest';
import { Comparison } from './managers-comparison.js';
import { Storm } from './managers-storm.js';
import { compact, type History, histories, restart } from './managers-history.js';

/** Histories per property: enough to notice what is likely, few enough for every day. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 150);

function compare(history: History): Promise<void> {
  return new Comparison(history).run();
}

describe('Two managers over one store, with stale caches, lost answers and unknown commits', () => {
  it('answer as one manager on a clean store does', async () => {
    await fc.assert(fc.asyncProperty(histories(), compare), { numRuns: RUNS });
  });

  it('answer so also when feeds are compacted and everything is restarted', async () => {
    const rare = [
      { arbitrary: compact, weight: 2 },
      { arbitrary: restart, weight: 2 },
    ];
    await fc.assert(fc.asyncProperty(histories(...rare), compare), { numRuns: RUNS });
  });

  it('keep every promise when bursts of commands meet short leases', async () => {
    const storm = (seed: number) => new Storm({ seed, deaths: false }).run();
    await fc.assert(fc.asyncProperty(fc.integer(), storm), { numRuns: RUNS });
  });

  it('keep every promise when managers die and others take over', async () => {
    const storm = (seed: number) => new Storm({ seed, deaths: true }).run();
    await fc.assert(fc.asyncProperty(fc.integer(), storm), { numRuns: RUNS });
  });
});
