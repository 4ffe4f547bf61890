import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { put, revisionOf } from '../../../src/stores/contract/harness.js';
import { RedisStateStore } from '../../../src/stores/redis/redis-state-store.js';
import { redisSettings } from '../../../src/stores/redis/redis-settings.js';
import { stateStoreContract } from '../../../src/stores/state-store.contract.js';
import { type Change, type StateStore } from '../../../src/stores/state-store.interface.js';
import { RedisClusterServers } from '../../support/engines/redis-cluster.js';
import { eventually } from '../eventually.js';

describe('RedisStateStore on a Cluster', () => {
  let cluster: RedisClusterServers;
  let prefixes = 0;
  beforeAll(async () => (cluster = await RedisClusterServers.start(3, true)), 60_000);
  afterAll(() => cluster.destroy());

  async function open(prefix = `cluster${prefixes++}/`): Promise<RedisStateStore> {
    const store = new RedisStateStore({ ...redisSettings(cluster.url), timeoutMs: 1000 }, prefix);
    await store.open();
    return store;
  }

  stateStoreContract({ describe, it }, async () => {
    const prefix = `contract${prefixes++}/`;
    let store = await open(prefix);
    const reopen = async () => {
      await store.close();
      store = await open(prefix);
      return store;
    };
    return { store, reopen, destroy: () => store.close() };
  });

  it('spreads its partitions over the nodes and commits to all of them at once', async () => {
    const store = await open();
    expect(await writeEverywhere(store, 'a')).toHaveLength(16);
    const used = await Promise.all(cluster.primaries.map((server) => server.command('DBSIZE')));
    expect(used.every((keys) => Number(keys) > 0)).toBe(true);
    await store.close();
  });

  it('follows a partition that moves to another node, with its commits and its watch', async () => {
    const prefix = `moved${prefixes++}/`;
    const store = await open(prefix);
    const seen = await watchAll(store);
    const other = await open(prefix);
    const slot = Number(await cluster.primaries[0]!.command('CLUSTER', 'KEYSLOT', `{${prefix}p5}/head`));
    const from = cluster.primaries[cluster.ownerOf(slot)]!;
    const to = cluster.primaries[(cluster.ownerOf(slot) + 1) % 3]!;
    const id = String(await to.command('CLUSTER', 'MYID'));
    // Who has imported a slot is believed by everybody, replicas too: those would else claim it when their primary dies, and not be elected.
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(await from.command('CLUSTER', 'MYID')));
    for (const server of [to, from, ...cluster.primaries]) {
      await server.command('CLUSTER', 'SETSLOT', slot, 'NODE', id);
    }
    const revision = revisionOf(await store.commit(5, [put('a', 'absent')]));
    expect(await other.get(5, ['a'])).toMatchObject([{ key: 'a', revision }]);
    await eventually(async () => expect(seen).toEqual([`5:${revision}`]));
    await Promise.all([store.close(), other.close()]);
  });

  it('goes on at the replica when a primary dies, with its commits and its watches', async () => {
    const prefix = `failover${prefixes++}/`;
    const store = await open(prefix);
    const withoutWatches = await open(prefix);
    await writeEverywhere(store, 'before');
    const seen = await watchAll(store);
    await cluster.primaries[1]!.stop('SIGKILL');
    await eventually(() => writeEverywhere(store, `after${prefixes++}`), 40_000);
    await eventually(() => writeEverywhere(withoutWatches, `after${prefixes++}`), 40_000);
    await eventually(async () => expect(new Set(seen.map((name) => name.split(':')[0])).size).toBe(16));
    await Promise.all([store.close(), withoutWatches.close()]);
  });
});

async function writeEverywhere(store: StateStore, key: string): Promise<number[]> {
  const commits = Array.from({ length: store.partitionCount }, (_, partition) => ({
    partition,
    writes: [put(key, 'absent')],
  }));
  const outcomes = await Promise.allSettled(store.commitMany(commits));
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return revisionOf(outcome.value);
  });
}

/** `<partition>:<revision>` of every commit shown from here on. */
async function watchAll(store: StateStore): Promise<string[]> {
  const seen: string[] = [];
  for (let partition = 0; partition < store.partitionCount; partition++) {
    const committed = (changes: readonly Change[]) => seen.push(`${partition}:${changes[0]!.revision}`);
    const { cursor } = await store.list(partition);
    store.watch(partition, cursor, { committed, compacted: () => seen.push(`${partition}:compacted`) });
  }
  return seen;
}
