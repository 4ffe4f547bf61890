import { askerKey, type Asker, type Chunk } from '../core/chunked-list.js';
import { type Command } from '../core/commands.js';
import { type Moment } from '../core/moment.js';
import { type Hold, type KeyState, type Waiter } from '../core/state.js';

/** The deadlines that are counted here rather than asked for; 0 = off. */
export interface DeadlinePolicy {
  readonly claimTimeoutMs: number;
  readonly waiterTtlMs: number;
  readonly completionTtlMs: number;
  /** For so long after a waiter was written, another instance may have heard of it without a write. */
  readonly unheardMs?: number;
}

/** Everything remembered up to this revision was seen by `sinceMs`. */
interface Mark {
  readonly openedMs: number;
  readonly sinceMs: number;
  readonly revision: number;
}

interface WaiterClock {
  readonly waiter: Waiter;
  readonly writtenMs: number;
  /** It has not asked later than this, as far as can be known here. */
  readonly askedMs: number;
}

/** Memories are forgotten at most a sixteenth of their time late, so that a busy key keeps only so many marks. */
const MARKS_PER_TTL = 16;

/**
 * What this process has watched of one key: since when its hold, its waiters and its memories are as they are. It lives in
 * memory only, so that after a restart every deadline starts again in full.
 */
export class KeyClock {
  holdSinceMs = 0;
  private hold: Hold | undefined;
  private marks: Mark[] | undefined;
  private waiters: Map<string, WaiterClock> | undefined;

  constructor(readonly type: string) {}

  /** The clock again that watched only the hold of this key, since then. */
  static resumed({ type, hold }: KeyState, holdSinceMs: number): KeyClock {
    const clock = new KeyClock(type);
    clock.hold = hold;
    clock.holdSinceMs = holdSinceMs;
    return clock;
  }

  get watchesWaiters(): boolean {
    return this.waiters !== undefined;
  }

  get watchesOnlyAHold(): boolean {
    return this.hold !== undefined && !this.marks && !this.waiters;
  }

  /** Takes note of what has changed since it last looked. */
  observe(before: KeyState | undefined, key: KeyState, nowMs: number, policy: DeadlinePolicy): void {
    if (key.hold?.renewed !== this.hold?.renewed) this.holdSinceMs = nowMs;
    this.hold = key.hold;
    this.observeMemories(key, nowMs, policy);
    if (policy.waiterTtlMs > 0 && (before?.lanes.length || key.lanes.length)) {
      this.observeWaiters(before, key, nowMs, policy);
    }
  }

  /** Someone who waits has asked again without anything being written. */
  asked(asker: Asker, nowMs: number): void {
    const name = askerKey(asker);
    const clock = this.waiters?.get(name);
    if (!clock || clock.askedMs >= nowMs) return;
    this.waiters!.delete(name);
    this.waiters!.set(name, { ...clock, askedMs: nowMs });
  }

  /** Half of its time has passed since the waiter was written: other instances know only of that. */
  shouldTouch(asker: Asker, nowMs: number, policy: DeadlinePolicy): boolean {
    const clock = this.waiters?.get(askerKey(asker));
    return clock !== undefined && nowMs - clock.writtenMs >= policy.waiterTtlMs / 2;
  }

  dueAtMs(policy: DeadlinePolicy): number {
    return Math.min(
      this.leaseEndMs(),
      this.claimEndMs(policy),
      this.waiterEndMs(policy),
      this.memoryEndMs(policy),
    );
  }

  /** The commands whose time has come, each naming exactly what was watched. */
  *due(nowMs: number, policy: DeadlinePolicy): Iterable<Command> {
    const { type, hold } = this;
    if (hold && this.leaseEndMs() <= nowMs) {
      yield expiry(type, hold, 'the lease ended without a renewal');
    } else if (hold && this.claimEndMs(policy) <= nowMs) {
      yield expiry(type, hold, 'the lock was handed over and not claimed in time');
    }
    for (const { waiter, askedMs } of this.waiters?.values() ?? []) {
      if (askedMs + policy.waiterTtlMs > nowMs) break;
      yield {
        kind: 'expire-waiter',
        type,
        asker: waiter,
        ticket: waiter.ticket,
        renewed: waiter.renewed,
        error: 'not heard of for too long',
      };
    }
    const old = this.marks?.findLast((mark) => mark.sinceMs + policy.completionTtlMs <= nowMs);
    if (old) yield { kind: 'forget', type, upTo: old.revision };
  }

  private leaseEndMs(): number {
    return this.hold && this.hold.leaseMs > 0 ? this.holdSinceMs + this.hold.leaseMs : Infinity;
  }

  private claimEndMs({ claimTimeoutMs }: DeadlinePolicy): number {
    return this.hold && !this.hold.claimed && claimTimeoutMs > 0
      ? this.holdSinceMs + claimTimeoutMs
      : Infinity;
  }

  private waiterEndMs({ waiterTtlMs }: DeadlinePolicy): number {
    const oldest = this.waiters?.values().next().value;
    return oldest ? oldest.askedMs + waiterTtlMs : Infinity;
  }

  private memoryEndMs({ completionTtlMs }: DeadlinePolicy): number {
    const oldest = this.marks?.[0];
    return oldest ? oldest.sinceMs + completionTtlMs : Infinity;
  }

  private observeMemories(key: KeyState, nowMs: number, { completionTtlMs }: DeadlinePolicy): void {
    const { oldest, newest } = memoriesOf(key);
    if (newest === 0) {
      this.marks = undefined;
      return;
    }
    const known = this.marks;
    if (known && known[0]!.revision >= oldest && known.at(-1)!.revision >= newest) return;
    const marks = known?.filter((mark) => mark.revision >= oldest) ?? [];
    const last = marks.at(-1);
    if (!last || last.revision < newest) {
      const open = last && nowMs - last.openedMs < completionTtlMs / MARKS_PER_TTL ? marks.pop() : undefined;
      marks.push({ openedMs: open?.openedMs ?? nowMs, sinceMs: nowMs, revision: newest });
    }
    this.marks = marks;
  }

  private observeWaiters(
    before: KeyState | undefined,
    key: KeyState,
    nowMs: number,
    policy: DeadlinePolicy,
  ): void {
    const old = chunksById(before);
    const present = chunksById(key);
    const clocks = (this.waiters ??= new Map<string, WaiterClock>());
    // First who left, then who came: a waiter that did both stands in another chunk now.
    for (const chunk of old.values()) {
      if (present.get(chunk.id) === chunk) continue;
      const kept = new Set(present.get(chunk.id)?.entries.map(askerKey));
      for (const waiter of chunk.entries) if (!kept.has(askerKey(waiter))) clocks.delete(askerKey(waiter));
    }
    for (const chunk of present.values()) {
      if (old.get(chunk.id) === chunk) continue;
      for (const waiter of chunk.entries) this.observeWaiter(clocks, waiter, nowMs, policy);
    }
    if (clocks.size === 0) this.waiters = undefined;
  }

  private observeWaiter(
    clocks: Map<string, WaiterClock>,
    waiter: Waiter,
    nowMs: number,
    { unheardMs = 0 }: DeadlinePolicy,
  ): void {
    if (waiter.sessionId !== undefined) return;
    const name = askerKey(waiter);
    if (clocks.get(name)?.waiter.renewed === waiter.renewed) return;
    clocks.delete(name);
    clocks.set(name, { waiter, writtenMs: nowMs, askedMs: nowMs + unheardMs });
  }
}

function expiry(type: string, hold: Hold, error: string): Command {
  return { kind: 'expire-hold', type, token: hold.token, renewed: hold.renewed, error };
}

/** Revisions of the oldest and newest thing remembered; 0 when there is none. Dismissals stand in order. */
function memoriesOf({ success, failure, lastRelease, dismissals }: KeyState): {
  oldest: number;
  newest: number;
} {
  let oldest = Infinity;
  let newest = 0;
  const look = (memory: { readonly moment: Moment } | undefined) => {
    if (!memory) return;
    oldest = Math.min(oldest, memory.moment.revision);
    newest = Math.max(newest, memory.moment.revision);
  };
  look(success);
  look(failure);
  look(lastRelease);
  look(dismissals.first?.outcome);
  look(dismissals.chunks.at(-1)?.entries.at(-1)?.outcome);
  return { oldest, newest };
}

function chunksById(key: KeyState | undefined): Map<number, Chunk<Waiter>> {
  return new Map(
    key?.lanes.flatMap((lane) => lane.waiters.chunks.map((chunk) => [chunk.id, chunk] as const)),
  );
}
