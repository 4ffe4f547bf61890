import { setTimeout as sleep } from 'node:timers/promises';
import { type ProxyMode } from '../../support/engines/engine-proxy.js';
import { pick, type Random } from '../../support/random.js';
import { type Instance, type Victim } from './victims.js';

export type FaultKind = 'kill' | 'stop' | 'cut';

/** Something that breaks, and is mended before `happen` resolves. */
export interface Fault {
  readonly kind: FaultKind;
  readonly what: string;
  happen(): Promise<void>;
}

/** Longer than leases and sessions last. */
const STOPPED_MS = 5000;

/** Longer than the others wait for a heartbeat before they bury an instance. */
const BURIED_MS = 12_000;

/** Longer than a store waits for its engine, so that it notices. */
const CUT_MS = 4500;

const DOWN_MS = 1000;

/** Every kind of fault once, on victims and in an order that the random numbers choose. */
export function faultsOf(
  random: Random,
  instances: readonly Instance[],
  members: readonly Victim[],
): Fault[] {
  const anybody = [...instances, ...members];
  const more = (ms: number) => ms * (1 + random() / 2);
  const faults = [
    ...[instances, members, anybody].map((victims) => kill(pick(random, victims), more(DOWN_MS))),
    ...[members, anybody].map((victims) => stop(pick(random, victims), more(STOPPED_MS))),
    stop(pick(random, instances), BURIED_MS),
    ...CUTS.map((mode) => cut(pick(random, instances), mode, more(CUT_MS))),
  ];
  return shuffled(random, faults);
}

function kill(victim: Victim, ms: number): Fault {
  return {
    kind: 'kill',
    what: `${victim.name} killed`,
    async happen() {
      await victim.kill();
      await sleep(ms);
      await victim.startAgain();
    },
  };
}

function stop(victim: Victim, ms: number): Fault {
  return {
    kind: 'stop',
    what: `${victim.name} stopped for ${Math.round(ms)} ms`,
    async happen() {
      victim.signal('SIGSTOP');
      await sleep(ms);
      victim.signal('SIGCONT');
    },
  };
}

const CUTS: readonly ProxyMode[] = ['stall', 'delay', 'mute', 'refuse'];

/** What a connection has lost it cannot find again: but for `delay`, it is broken when the network is back. */
function cut({ name, proxies }: Instance, mode: ProxyMode, ms: number): Fault {
  return {
    kind: 'cut',
    what: `${name} cut off (${mode}) for ${Math.round(ms)} ms`,
    async happen() {
      for (const proxy of proxies) {
        proxy.mode = mode;
        if (mode === 'refuse') proxy.cut();
      }
      await sleep(ms);
      for (const proxy of proxies) {
        if (mode !== 'delay') proxy.cut();
        proxy.mode = 'pass';
      }
    },
  };
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
