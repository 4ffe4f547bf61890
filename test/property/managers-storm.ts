import { expect } from 'vitest';
import { type LockEvent } from '../../src/core/events.js';
import { sameMoment } from '../../src/core/moment.js';
import { someFaults } from '../support/faulty-store.js';
import { DEFAULT_LOCK_POLICY } from '../support/lock-managers.js';
import { pick, type Random, seeded } from '../support/random.js';
import { SimulatedClock, settled } from '../support/simulated-clock.js';
import { Crowd, RESOURCES } from './managers-crowd.js';
import { checkAnswers, checkReferences } from './managers-acknowledged.js';
import { eventsOf, type Instance, ManagerSystem } from './managers-systems.js';
import { Witness, type Witnessed } from './managers-witness.js';

const TIMES = { defaultLeaseMs: 600, claimTimeoutMs: 400, waiterTtlMs: 2000, completionTtlMs: 3000 };

export interface Weather {
  readonly seed: number;
  /** Managers die and others take over. */
  readonly deaths: boolean;
}

/** Bursts of commands in flight at two managers at once, short leases, and faults everywhere. */
export class Storm {
  private readonly random: Random;
  private readonly clock = new SimulatedClock();
  private readonly system: ManagerSystem;
  private readonly crowd: Crowd;
  private witness!: Witness;
  private deaths = 0;

  constructor(private readonly weather: Weather) {
    const random = (this.random = seeded(weather.seed));
    const policy = {
      ...DEFAULT_LOCK_POLICY,
      ...TIMES,
      shardCount: 2,
      allowMultiNodeDownload: random() > 0.1,
      refcountMode: pick(random, ['server', 'server', 'client'] as const),
      updateRequiresNoRef: random() > 0.5,
      lockIsolation: pick(random, ['operation', 'resource'] as const),
      successPolicy: pick(random, ['dismiss', 'dismiss', 'handover'] as const),
    };
    const failing = { rejected: pick(random, [0, 0.1]), unreadable: pick(random, [0, 0, 0.2]) };
    const faults = { ...someFaults(random, 2), ...failing };
    this.system = new ManagerSystem(this.clock, policy, random, faults, random() > 0.5);
    this.crowd = new Crowd(this.system, random);
  }

  async run(): Promise<void> {
    await this.system.start(pick(this.random, [1, 2, 2]));
    this.witness = await Witness.of(this.system.inner);
    for (let round = 0; round < 12; round++) {
      await this.round();
      if (round % 2) await this.system.applyLate();
    }
    await this.calm();
    for (const resourceId of RESOURCES) await this.checkStreams(resourceId);
    this.witness.checkExclusion(this.system.policy);
    checkAnswers(this.crowd.answers, this.witness);
    for (const resourceId of RESOURCES) {
      const state = await this.system.state(resourceId);
      checkReferences(resourceId, state, this.crowd.answers, this.witness, this.system.policy);
    }
    await this.everyoneLeaves();
  }

  private async round(): Promise<void> {
    const { random, system } = this;
    this.crowd.burst(1 + Math.floor(random() * 10));
    const turns = Math.floor(random() * 8);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (this.weather.deaths && random() < 0.25) await this.replaceOne();
    if (random() < 0.05) await system.compact(Math.floor(random() * 2));
    if (random() < 0.6) await this.clock.advance(pick(random, [1, 50, 250, 450, 900]));
    for (const { store } of system.instances) if (random() < 0.3) store.deliver(pick(random, [1, 1000]));
    for (const resourceId of RESOURCES) await system.state(resourceId);
  }

  private async replaceOne(): Promise<void> {
    const { system, random } = this;
    const index = Math.floor(random() * system.instances.length);
    system.kill(system.instances[index]!);
    system.instances[index] = await system.newInstance();
    this.deaths++;
  }

  /** The faults end, and whoever is still waiting for an answer gets it. */
  private async calm(): Promise<void> {
    for (const { store } of this.system.instances) store.faults = {};
    for (let wait = 0; wait < 20; wait++) {
      await this.system.catchUp();
      await settled();
      // Who waits for a feed that was compacted is told after a while that nobody knows.
      await this.clock.advance(250);
    }
    if (this.deaths === 0) expect(this.crowd.open, 'everybody is answered').toBe(0);
  }

  private async checkStreams(resourceId: string): Promise<void> {
    const all = this.witness.seen.filter((entry) => entry.resourceId === resourceId);
    for (const instance of this.system.instances) {
      const stream = eventsOf(instance, resourceId);
      if (instance.gap) {
        if (this.deaths === 0) checkGaps(instance, resourceId, stream, all);
        continue;
      }
      expect(stream).toEqual(all.slice(all.length - stream.length).map(({ event }) => event));
      if (this.deaths === 0) expect(stream).toHaveLength(all.length);
    }
  }

  /** Nobody is left waiting, and nothing is left behind. */
  private async everyoneLeaves(): Promise<void> {
    await this.clock.advance(20_000);
    for (const resourceId of RESOURCES) {
      const { keys } = await this.system.state(resourceId);
      const present = keys.flatMap(({ hold, lanes }) => [
        hold,
        ...lanes.flatMap((lane) => [...lane.waiters]),
      ]);
      expect(present.filter((asker) => asker && asker.sessionId === undefined)).toEqual([]);
    }
    await this.crowd.leave();
    await this.clock.advance(20_000);
    for (const resourceId of RESOURCES) {
      const { keys } = await this.system.state(resourceId);
      expect(keys, 'every hold and every wait has ended').toEqual([]);
    }
    await this.crowd.releaseReferences();
    await this.clock.advance(5000);
    expect(await this.system.storedItems()).toBe(0);
    for (const { manager } of this.system.instances) {
      expect([manager.size, manager.watched]).toEqual([0, 0]);
    }
    this.witness.checkExclusion(this.system.policy);
  }
}

/** What is missing in the stream of an instance is missing where it said so. */
function checkGaps(
  { gaps }: Instance,
  resourceId: string,
  stream: readonly LockEvent[],
  all: readonly Witnessed[],
): void {
  const told = (after: number) => gaps.some((gap) => gap.resourceId === resourceId && gap.after === after);
  let next = 0;
  for (const [index, { moment }] of stream.entries()) {
    const at = all.findIndex(({ event }) => sameMoment(event.moment, moment));
    expect(at, 'what it published has happened').toBeGreaterThanOrEqual(next);
    if (at > next) expect(told(index), `events of ${resourceId} were missed in silence`).toBe(true);
    next = at + 1;
  }
  if (next < all.length) expect(told(stream.length), 'the last events were missed in silence').toBe(true);
}
