import { type Clock } from '../common/clock.interface.js';
import { type Command } from '../core/commands.js';
import { type Result } from '../core/results.js';
import { type ResourceSlot, type Work } from './resource-slot.js';

/** So many commits for a crowd at one resource are made at once: a few nodes never wait. */
const AT_ONCE = 4;

/** Then one in this time: with three instances 24 a second, however many come. Beside a download it is nothing. */
const INTERVAL_MS = 125;

/**
 * Paces what a crowd at one resource has written when the engine is shared, and every commit is a round trip that the other instances
 * watch: new waiters, skips that are counted, dismissals that were told. Whoever has to go on with anything else (a grant, a
 * release, a renewal …) does not wait, and takes those who do along.
 */
export class Crowd {
  constructor(private readonly clock: Clock) {}

  /** How long a commit for no more than a crowd has to wait. */
  waitMs({ crowdedMs }: ResourceSlot): number {
    return crowdedMs - (AT_ONCE - 1) * INTERVAL_MS - this.clock.monotonicMs();
  }

  /** One was made. */
  committed(slot: ResourceSlot): void {
    slot.crowdedMs = Math.max(slot.crowdedMs, Math.ceil(this.clock.monotonicMs())) + INTERVAL_MS;
  }

  /** Until the time has passed, or `work.wake` is called. */
  async wait(work: Work, delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(delayMs, resolve);
      work.wake = () => {
        cancel();
        resolve();
      };
    });
    work.wake = undefined;
  }
}

/** Nobody goes on with something when this is written: it only has to be some time soon. */
export function isPatient({ kind }: Command, result: Result): boolean {
  if (kind === 'acquire') return result.kind === 'queued' || result.kind === 'skipped';
  return kind === 'spend' || kind === 'touch';
}
