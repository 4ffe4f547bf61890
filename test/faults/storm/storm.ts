import { setTimeout as sleep } from 'node:timers/promises';
import { Recorder } from '../../linearizability/recorder.js';
import { EngineProxy } from '../../support/engines/engine-proxy.js';
import { type Random, seeded } from '../../support/random.js';
import { ServerProcess } from '../../support/server-process.js';
import { type Engine } from './engines.js';
import { type Fault, faultsOf } from './faults.js';
import { Load } from './load.js';
import { Tally } from './tally.js';
import { Instance } from './victims.js';

const INSTANCES = 3;

/** Short, so that processes are stopped and cut off for longer. */
export const TIMING = { leaseMs: 3000, claimTimeoutMs: 3000, waiterTtlMs: 8000 };

const PACE = { sessionTtlMs: 4000, leaseMs: TIMING.leaseMs, pauseMs: 250, retryMs: 2500 };

/** Shorter than a session lasts, so that a client of a stopped instance can save its own elsewhere. */
const REQUEST_TIMEOUT_MS = 2500;

/** Between two faults, for everybody to find out that the last is over. */
const CALM_MS = 1000;

export interface Wishes {
  readonly seed: number;
  /** It goes on until all of this has been, and every kind of fault. */
  readonly least: { readonly operations: number; readonly handOvers: number; readonly brokenMs: number };
  readonly report: (line: string) => void;
}

/** Instances over an engine under load, while one thing after the other breaks. */
export class Storm {
  readonly recorder: Recorder;
  readonly faults: Fault[] = [];
  private readonly random: Random;
  private readonly load: Load;
  /** What is still to happen of this round of faults. */
  private readonly deck: Fault[] = [];
  private rounds = 0;
  private brokenMs = 0;

  private constructor(
    private readonly engine: Engine,
    readonly instances: readonly Instance[],
    private readonly wishes: Wishes,
  ) {
    this.random = seeded(wishes.seed);
    this.recorder = new Recorder(wishes.seed, REQUEST_TIMEOUT_MS);
    const urls = instances.map(({ server }) => server.url);
    this.load = new Load(this.recorder, seeded(wishes.seed + 1), urls, PACE);
  }

  /** `program`: what is run as an instance, if not the server as it is. */
  static async over(engine: Engine, wishes: Wishes, program?: string): Promise<Storm> {
    const instances = await Promise.all(
      Array.from({ length: INSTANCES }, (_, n) => startInstance(n, engine, program)),
    );
    return new Storm(engine, instances, wishes);
  }

  get tally(): Tally {
    return new Tally(this.recorder.history, this.faults, this.brokenMs);
  }

  /** Everything is mended when it resolves, and everybody was asked how it ended. False: somebody waits for ever. */
  async run(): Promise<boolean> {
    let over = false;
    const working = this.load.run(() => over);
    try {
      while (!this.isEnough) await this.faultOrCalm();
    } finally {
      over = true;
      await working;
    }
    const finished = await this.load.finish();
    await this.askForEverything();
    return finished;
  }

  async end(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.remove()));
    await this.recorder.close();
  }

  private get isEnough(): boolean {
    const { operations, handOvers } = this.wishes.least;
    const { tally } = this;
    return this.isBrokenEnough && tally.operations >= operations && tally.handOvers >= handOvers;
  }

  private get isBrokenEnough(): boolean {
    const { brokenMs } = this.wishes.least;
    return this.brokenMs >= brokenMs && (brokenMs === 0 || this.rounds > 1 || this.deck.length === 0);
  }

  private async faultOrCalm(): Promise<void> {
    await sleep(CALM_MS);
    if (this.isBrokenEnough) return;
    if (this.deck.length === 0) {
      this.rounds++;
      this.deck.push(...faultsOf(this.random, this.instances, this.engine.members));
    }
    const fault = this.deck.pop()!;
    this.wishes.report(`${this.recorder.answered} operations; ${fault.what}`);
    this.faults.push(fault);
    const since = performance.now();
    await fault.happen();
    this.brokenMs += performance.now() - since;
  }

  /** What was acknowledged must still be there, on every resource there ever was. */
  private async askForEverything(): Promise<void> {
    const url = this.instances[0]!.server.url;
    for (const { resource, types } of this.load.used) {
      const of = { resource, node: 'auditor' };
      await this.recorder.ask('auditor', url, { do: 'references', resource });
      for (const type of types) await this.recorder.ask('auditor', url, { do: 'status', ...of, type });
    }
  }
}

async function startInstance(n: number, engine: Engine, program?: string): Promise<Instance> {
  const proxies = await Promise.all(engine.ports.map((port) => EngineProxy.start(port)));
  const environment = {
    STORE_URL: engine.urlThrough(proxies.map(({ port }) => port)),
    CLAIM_TIMEOUT_MS: String(TIMING.claimTimeoutMs),
    WAITER_TTL_MS: String(TIMING.waiterTtlMs),
    DEFAULT_LEASE_MS: String(TIMING.leaseMs),
  };
  return new Instance(`instance ${n}`, await ServerProcess.start(environment, program), proxies);
}
