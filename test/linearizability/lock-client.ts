import { setTimeout as sleep } from 'node:timers/promises';
import { pick, type Random } from '../support/random.js';
import {
  type LockInput,
  type LockOutput,
  type SessionInput,
  type SessionOutput,
  type Unlock,
} from './lock-operations.js';
import { type Recorder } from './recorder.js';

export interface Surroundings {
  readonly recorder: Recorder;
  readonly random: Random;
  /** Any of them may be asked for anything. */
  readonly urls: readonly string[];
  readonly resources: readonly string[];
  readonly types: readonly string[];
  /** Without it, sessions and leases outlast any test, and nobody pauses for long. */
  readonly pace?: Pace;
}

export interface Pace {
  /** Of clients that use sessions; they renew it three times as often. */
  readonly sessionTtlMs: number;
  /** Of clients that do not. */
  readonly leaseMs: number | undefined;
  /** Longest between two requests. */
  readonly pauseMs: number;
  /** Longest after one that was not answered. */
  readonly retryMs: number;
}

const NO_HURRY: Pace = { sessionTtlMs: 600_000, leaseMs: undefined, pauseMs: 3, retryMs: 3 };

/** An instance that did not answer is left alone for so long, as by a load balancer. */
const AVOIDED_MS = 2000;

/** Waits, works, fails, gives up and asks again, one request at a time, as its random numbers will have it. */
export class LockClient {
  private key: { readonly resource: string; readonly type: string } | undefined;
  private ticket: string | undefined;
  private token: number | undefined;
  private session: string | undefined;
  private sessionKeptMs = 0;
  private readonly avoidedUntilMs = new Map<string, number>();
  private readonly pace: Pace;
  private lastUnlock: Unlock | undefined;
  /** Said, and not known to be heard. */
  private unheard: LockInput | SessionInput | undefined;

  constructor(
    private readonly around: Surroundings,
    private readonly node: string,
    private readonly usesSessions: boolean,
  ) {
    this.pace = around.pace ?? NO_HURRY;
  }

  /** Until something is not answered, or it is told to stop. */
  async work(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      if (!(await this.say(this.next()))) return;
      await this.pause(this.pace.pauseMs);
    }
  }

  /** Until it is told to stop, whatever is not answered. */
  async persist(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      const heard = await this.say(this.next());
      await this.pause(heard ? this.pace.pauseMs : this.pace.retryMs);
    }
  }

  /** One more request on the way out. Resolves with whether it holds and awaits nothing any more. */
  async leave(): Promise<boolean> {
    if (this.unheard) await this.say(this.unheard);
    else if (this.token !== undefined) await this.say(this.unlock('failure'));
    else if (this.key) await this.say(this.lock());
    return this.key === undefined && this.unheard === undefined;
  }

  private next(): LockInput | SessionInput {
    const { random, types, resources } = this.around;
    if (this.unheard && (this.unheard.do === 'end-session' || random() < 0.6)) return this.unheard;
    if (this.usesSessions && this.session === undefined) {
      return { do: 'open-session', node: this.node, ttlMs: this.pace.sessionTtlMs };
    }
    if (this.session !== undefined && performance.now() > this.sessionKeptMs + this.pace.sessionTtlMs / 3) {
      return { do: 'renew-session', node: this.node, session: this.session };
    }
    if (this.session !== undefined && random() < 0.02) {
      return { do: 'end-session', node: this.node, session: this.session };
    }
    if (this.lastUnlock && !this.key && random() < 0.2) return this.unlockAgain(this.lastUnlock);
    this.key ??= { resource: pick(random, resources), type: pick(random, types) };
    const chance = random();
    if (chance < 0.1) return { do: 'status', ...this.asker(), ticket: this.ticket };
    if (chance < 0.13) return { do: 'references', resource: this.key.resource };
    if (chance < 0.25) return this.reference();
    return this.token === undefined ? this.whileNotHolding(random()) : this.whileHolding(random());
  }

  private whileNotHolding(chance: number): LockInput {
    if (this.ticket !== undefined && chance < 0.06) return { do: 'cancel', ...this.asker() };
    return this.lock();
  }

  private whileHolding(chance: number): LockInput {
    if (chance < 0.12) return { do: 'renew', ...this.asker(), token: this.token };
    if (chance < 0.22) return this.lock();
    if (chance < 0.5) return this.unlock('success');
    return this.unlock(chance < 0.6 ? 'fatal' : 'failure');
  }

  private lock(): LockInput {
    const absent = this.around.random() < 0.3 ? true : undefined;
    const leaseMs = this.usesSessions ? undefined : this.pace.leaseMs;
    return { do: 'lock', ...this.asker(), ticket: this.ticket, absent, leaseMs };
  }

  /** As one does whose answer was lost, or who has changed its mind. */
  private unlockAgain(last: Unlock): Unlock {
    const success = this.around.random() < 0.5 ? last.success : !last.success;
    return { ...last, success, error: success ? '' : 'failed', fatal: false };
  }

  private unlock(outcome: 'success' | 'failure' | 'fatal'): Unlock {
    const success = outcome === 'success';
    const said = { success, error: success ? '' : 'failed', fatal: outcome === 'fatal' };
    return { do: 'unlock', ...this.asker(), token: this.token, ...said };
  }

  private reference(): LockInput {
    const { resource } = this.key!;
    const change = this.around.random() < 0.1 ? 'add-reference' : 'release-reference';
    return { do: change, resource, node: this.node };
  }

  private asker() {
    return { ...this.key!, node: this.node, session: this.session };
  }

  private async say(input: LockInput | SessionInput): Promise<boolean> {
    const { recorder } = this.around;
    const url = this.anyUrl();
    const call = performance.now();
    this.unheard = input;
    const output = await recorder.ask(this.node, url, input);
    if (!output) {
      this.avoidedUntilMs.set(url, performance.now() + AVOIDED_MS);
      return false;
    }
    this.unheard = undefined;
    if (output.is === 'session') this.sessionKeptMs = call;
    this.hear(input, output);
    return true;
  }

  private anyUrl(): string {
    const { urls, random } = this.around;
    const usable = urls.filter((url) => (this.avoidedUntilMs.get(url) ?? 0) < performance.now());
    return pick(random, usable.length > 0 ? usable : urls);
  }

  private pause(longestMs: number): Promise<void> {
    return sleep(Math.floor(this.around.random() * longestMs));
  }

  private hear(input: LockInput | SessionInput, output: LockOutput | SessionOutput): void {
    if (output.is === 'session') this.session = output.session;
    const sessionIsOver = output.is === 'ended' || isWithoutSession(output);
    if (sessionIsOver) this.session = undefined;
    if (output.is === 'acquired') this.token = output.token;
    if (output.is === 'status' && output.acquired) this.token = output.token;
    if (output.is === 'queued') this.ticket = output.ticket;
    if (input.do === 'unlock') this.lastUnlock = input;
    if (!sessionIsOver && !isOver(input, output)) return;
    this.key = undefined;
    this.token = undefined;
    this.ticket = undefined;
  }
}

/** Whether the client has nothing more to do with the key. */
function isOver(input: LockInput | SessionInput, { is }: LockOutput | SessionOutput): boolean {
  if (input.do === 'unlock' || input.do === 'cancel' || input.do === 'end-session') return true;
  return (input.do === 'lock' || input.do === 'renew') && (is === 'skip' || is === 'refused');
}

function isWithoutSession(output: LockOutput | SessionOutput): boolean {
  return output.is === 'refused' && output.code === 'SESSION_NOT_FOUND';
}
