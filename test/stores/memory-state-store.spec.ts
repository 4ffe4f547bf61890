import { describe, expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { stateStoreContract } from '../../src/stores/state-store.contract.js';
import { SimulatedClock } from '../support/simulated-clock.js';

describe('MemoryStateStore', () => {
  stateStoreContract({ describe, it }, async () => {
    const store = new MemoryStateStore(new SimulatedClock());
    await store.open();
    return { store, destroy: () => store.close() };
  });

  it('starts its revisions at the wall clock, so that a restarted process goes on above the one before', async () => {
    const store = new MemoryStateStore(new SimulatedClock(1_700_000_000_000));
    await store.open();
    const outcome = await store.commit(0, [{ key: 'a', expect: 'absent', put: '' }]);
    expect(outcome).toEqual({ status: 'committed', revision: 1_700_000_000_000_001 });
  });

  it('does not let revisions go back when the same store is opened again after the wall clock was set back', async () => {
    const clock = new SimulatedClock(1_700_000_000_000);
    const store = new MemoryStateStore(clock);
    await store.open();
    await store.close();
    clock.setWall(1_000_000_000_000);
    await store.open();
    const outcome = await store.commit(0, [{ key: 'a', expect: 'absent', put: '' }]);
    expect(outcome).toEqual({ status: 'committed', revision: 1_700_000_000_000_001 });
  });

  it('has shown a commit to its watchers by the time it is acknowledged', async () => {
    const store = new MemoryStateStore(new SimulatedClock());
    await store.open();
    const { cursor } = await store.list(0);
    const order: string[] = [];
    store.watch(0, cursor, {
      committed: () => order.push('shown'),
      compacted: () => order.push('compacted'),
    });
    await Promise.resolve();
    await store.commit(0, [{ key: 'a', expect: 'absent', put: '' }]).then(() => order.push('acknowledged'));
    expect(order).toEqual(['shown', 'acknowledged']);
  });
});
