import { setTimeout as sleep } from 'node:timers/promises';
import { pick, type Random, seeded } from '../../support/random.js';
import { type ChurnOptions, type ChurnReport, type Item } from './messages.js';

/** What a node does with a blob. Outcomes are words: `yours`, `skip`, `deleted`, or the code of an error. */
export interface Shelf {
  pull(item: Item): Promise<string>;
  /** Rejects if the bytes are not there or not right. */
  verify(digest: string): Promise<void>;
  release(digest: string): Promise<void>;
  delete(digest: string): Promise<string>;
}

/** Nobody keeps a blob long, so that deletes have a chance. */
const LONGEST_USE_MS = 20;
const MOST_LOOKS = 3;

/** Pulls, uses, releases and deletes at random; several things at a time, but one blob only once. */
export async function churn(
  shelf: Shelf,
  { items, milliseconds, seed, atOnce }: ChurnOptions,
): Promise<ChurnReport> {
  const random = seeded(seed);
  const end = performance.now() + milliseconds;
  const report = { counts: {} as Record<string, number>, violations: [] as string[] };
  const count = (what: string) => (report.counts[what] = (report.counts[what] ?? 0) + 1);
  const free = new Set(items);
  const worker = async () => {
    while (performance.now() < end) {
      const item = pick(random, [...free]);
      free.delete(item);
      if (random() < 0.6) await use(shelf, item, random, count, report.violations);
      else count(await shelf.delete(item.digest));
      free.add(item);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return report;
}

async function use(
  shelf: Shelf,
  item: Item,
  random: Random,
  count: (what: string) => void,
  violations: string[],
): Promise<void> {
  const told = await shelf.pull(item);
  count(told);
  if (told !== 'yours' && told !== 'skip') return;
  for (let looks = Math.ceil(random() * MOST_LOOKS); looks > 0; looks--) {
    try {
      await shelf.verify(item.digest);
      count('verified');
    } catch (error) {
      violations.push(`${told}, then: ${String(error)}`);
    }
    await sleep(random() * LONGEST_USE_MS);
  }
  await shelf.release(item.digest);
}
