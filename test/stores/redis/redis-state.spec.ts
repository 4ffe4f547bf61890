import { describe, expect, it } from 'vitest';
import { committed, getOne, listAll, PARTITION, put } from '../../../src/stores/contract/harness.js';
import { RedisStateStore } from '../../../src/stores/redis/redis-state-store.js';
import { redisSettings } from '../../../src/stores/redis/redis-settings.js';
import { eventually } from '../eventually.js';
import { openRedis, startRedis } from './redis-subject.js';

const HEAD = '{test/p0}/head';

describe('RedisStateStore, what it finds in Redis', () => {
  it('keeps the number of partitions that the state was created with', async () => {
    const redis = await startRedis();
    const first = await openRedis(redis.port, { partitions: 3 });
    const revision = await first.commit(2, [put('a', 'absent')]);
    const second = await openRedis(redis.port, { partitions: 8 });
    expect(second.partitionCount).toBe(3);
    expect(await second.get(2, ['a'])).toEqual([
      { key: 'a', value: 'value', revision: revision.status === 'committed' && revision.revision },
    ]);
  });

  it('gives openers at the same time the same number of partitions', async () => {
    const redis = await startRedis();
    const stores = await Promise.all([2, 3, 4, 5].map((partitions) => openRedis(redis.port, { partitions })));
    expect(new Set(stores.map((store) => store.partitionCount)).size).toBe(1);
  });

  it('does not open what another version wrote', async () => {
    const redis = await startRedis();
    await redis.command('HSET', HEAD, 'format', 2, 'partitions', 16);
    await expect(openRedis(redis.port)).rejects.toMatchObject({
      code: 'STORE_UNREADABLE',
      message: expect.stringContaining('format 2'),
    });
  });

  it('does not write into what another version has taken over', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const revision = await committed(store, put('a', 'absent', 'one'));
    await redis.command('HSET', HEAD, 'format', 2);
    await expect(store.commit(PARTITION, [put('a', revision, 'two')])).rejects.toMatchObject({
      code: 'STORE_UNREADABLE',
    });
    expect((await getOne(store, 'a'))?.value).toBe('one');
  });

  it('lists everything else where a key is in the index alone', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    for (const key of ['a', 'b', 'c']) await committed(store, put(key, 'absent'));
    await redis.command('HDEL', '{test/p0}/items', 'b');
    expect((await listAll(store)).items.map(({ key }) => key)).toEqual(['a', 'c']);
  });

  it('does not open a Redis that evicts', async () => {
    const redis = await startRedis('--maxmemory-policy', 'allkeys-lru');
    await expect(openRedis(redis.port)).rejects.toMatchObject({
      code: 'STORE_UNREADABLE',
      message: expect.stringContaining('noeviction'),
    });
  });

  it('takes commits far larger than any of ours, and rejects what Lua cannot hold with nothing written', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const writes = Array.from({ length: 5000 }, (_, n) => put(`k${n}`, 'absent'));
    await expect(store.commit(PARTITION, writes)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect((await listAll(store)).items).toEqual([]);
    await committed(store, ...writes.slice(0, 3900));
    expect((await listAll(store)).items).toHaveLength(3900);
  });

  it('keeps installations with different prefixes apart', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    await committed(store, put('a', 'absent'));
    const other = new RedisStateStore(redisSettings(redis.url), 'other/');
    await other.open();
    expect(await getOne(other, 'a')).toBeUndefined();
    await other.close();
  });

  it('does not take two keys for one because their characters are not valid Unicode', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const halves = ['k\ud800', 'k\ud801', 'k\udc00x'];
    const revision = await committed(store, ...halves.map((key) => put(key, 'absent', key)));
    expect(await store.get(PARTITION, halves)).toEqual(halves.map((key) => ({ key, revision, value: key })));
    const { pages } = await store.list(PARTITION, 'k\ud801');
    const listed = [];
    for await (const page of pages) listed.push(...page);
    expect(listed.map(({ key }) => key)).toEqual(['k\ud801']);
  });
});

describe('RedisStateStore with replicas', () => {
  it('says committed, and what is there, once as many replicas as asked for have it', async () => {
    const redis = await startRedis('--repl-diskless-sync-delay', '0');
    const replica = await startRedis('--replicaof', '127.0.0.1', `${redis.port}`);
    await eventually(async () =>
      expect(String(await redis.command('INFO', 'replication'))).toContain('state=online'),
    );
    const patient = await openRedis(
      `redis://127.0.0.1:${redis.port}?wait=1&wait_timeout_ms=20000&timeout_ms=30000`,
    );
    const first = await committed(patient, put('a', 'absent', 'one'));
    expect(String(await replica.command('HGET', '{test/p0}/items', 'a'))).toContain('one');
    replica.signal('SIGSTOP');
    const store = await openRedis(`redis://127.0.0.1:${redis.port}?wait=1&wait_timeout_ms=300`);
    const outcomes = store.commitMany([
      { partition: PARTITION, writes: [put('a', first, 'two')] },
      { partition: PARTITION, writes: [put('a', first, 'three')] },
    ]);
    expect(await outcomes[0]).toMatchObject({ status: 'unknown', cause: expect.any(Error) });
    expect(await outcomes[1]).toEqual({ status: 'conflict' });
    const reader = await openRedis(`redis://127.0.0.1:${redis.port}?wait=1&wait_timeout_ms=300`);
    for (const each of [store, reader]) {
      await expect(getOne(each, 'a')).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('Only 0 of 1 replicas have acknowledged what was read.'),
      });
    }
    replica.signal('SIGCONT');
    await eventually(async () => expect((await getOne(store, 'a'))?.value).toBe('two'));
  });

  it('does not write to a replica', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    await committed(store, put('a', 'absent'));
    await redis.command('REPLICAOF', '127.0.0.1', 1);
    await expect(store.commit(PARTITION, [put('b', 'absent')])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    await redis.command('REPLICAOF', 'NO', 'ONE');
    await eventually(() => committed(store, put('b', 'absent')));
  });
});
