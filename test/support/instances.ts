import { type Settings } from '../../src/config/settings.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { FaultyStore } from './faulty-store.js';
import { TestServer } from './server-bootstrap.js';
import { SimulatedClock, settled } from './simulated-clock.js';

/** One server's own way to the store that all of them share. */
export class Connection extends FaultyStore {
  /** What is committed from now on is never shown: the watch has to list again. */
  async missing(happens: () => Promise<unknown>): Promise<void> {
    this.faults = { heldBack: 1 };
    await happens();
    this.faults = {};
    this.compact();
    await settled();
  }

  /** The process is gone, as far as the store and the others can tell. */
  die(): void {
    this.refuse();
    this.unwatchAll();
  }

  /** The store answers nothing from here; changes are still seen. */
  refuse(): void {
    this.faults = { rejected: 1, unreadable: 1 };
  }
}

export interface Instances {
  readonly clock: SimulatedClock;
  readonly servers: readonly TestServer[];
  readonly connections: readonly Connection[];
  readonly store: MemoryStateStore;
}

/** Several servers over one store, on simulated time. */
export async function startInstances(count: number, settings: Partial<Settings> = {}): Promise<Instances> {
  const clock = new SimulatedClock();
  const store = new MemoryStateStore(clock);
  await store.open();
  const connections = Array.from({ length: count }, () => new Connection(store, () => 0, {}, true));
  const servers: TestServer[] = [];
  for (const connection of connections) {
    servers.push(await TestServer.with(settings).over(connection).onSimulatedTime(clock).start());
  }
  return { clock, servers, connections, store };
}
