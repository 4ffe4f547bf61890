import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { type CancelTimer, CLOCK, type Clock } from '../common/clock.interface.js';
import { STATE_STORE, type StateStore } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { InstanceRecords } from './instance-records.js';

/** Few writes, however many sessions there are; three of them may be lost before the others take notice. */
const BEAT_MS = 3000;

/** Without a heartbeat for so long, the others may bury an instance. */
export const INSTANCE_TTL_MS = 10_000;

/** The others count from when they see a heartbeat, on clocks of their own: this much earlier is early enough. */
const SURE_MS = INSTANCE_TTL_MS - BEAT_MS;

/** Its own record is in the way at most once, and it is buried at most once meanwhile. */
const MAX_TRIES = 4;

/**
 * This process, as others over the same store see it. Whoever was taken for dead is dead: it goes on under a new name, so
 * that everything that was its own has to be asked for again. Over an embedded store there is nobody to tell, and it
 * writes nothing.
 */
@Injectable()
export class Heartbeat implements OnModuleInit, BeforeApplicationShutdown {
  private id = newId();
  /** Of its record; 0: not written yet. */
  private revision = 0;
  private sentMs = -Infinity;
  private beating: Promise<void> | undefined;
  private cancelTimer: CancelTimer | undefined;
  private stopped = false;

  constructor(
    private readonly records: InstanceRecords,
    @Inject(STATE_STORE) private readonly store: StateStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Empty where there is only one. */
  get instanceId(): string {
    return this.store.shared ? this.id : '';
  }

  async onModuleInit(): Promise<void> {
    if (!this.store.shared) return;
    await this.beat();
    this.arm();
  }

  /** What is attached here has its full time from when the others notice: they do so at once. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    this.cancelTimer?.();
    this.sentMs = -Infinity;
    await this.beating?.catch(() => undefined);
    if (this.revision > 0) await this.records.delete(this.id, this.revision).catch(() => false);
  }

  /** Resolves when nobody can have taken this process for dead before now; rejects while that is not known. */
  async assure(): Promise<void> {
    if (!this.store.shared || this.clock.monotonicMs() - this.sentMs < SURE_MS) return;
    await this.beat();
  }

  private arm(): void {
    this.cancelTimer = this.clock.after(BEAT_MS, () => {
      this.beat()
        .catch(() => undefined)
        .finally(() => this.stopped || this.arm());
    });
  }

  private beat(): Promise<void> {
    if (this.stopped) return Promise.reject(unsure('the server is stopping'));
    this.beating ??= this.write().finally(() => (this.beating = undefined));
    return this.beating;
  }

  private async write(): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const sentMs = this.clock.monotonicMs();
      const revision = await this.records.put(this.id, this.revision);
      if (revision > 0) {
        this.revision = revision;
        this.sentMs = sentMs;
        return;
      }
      this.revision = await this.records.revisionOf(this.id);
      if (this.revision === 0) this.id = newId();
    }
    throw unsure('its heartbeat is not taken');
  }
}

function newId(): string {
  return randomBytes(9).toString('base64url');
}

function unsure(why: string): StoreError {
  return new StoreError('STORE_UNAVAILABLE', 'heartbeat', `this instance may count as dead: ${why}`);
}
