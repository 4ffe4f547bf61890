import { describe, expect, it, onTestFinished } from 'vitest';
import {
  committed,
  getOne,
  listAll,
  PARTITION,
  put,
  Recorder,
} from '../../../src/stores/contract/harness.js';
import { freePorts } from '../../support/engines/free-ports.js';
import { RedisSentinel } from '../../support/engines/redis-sentinel.js';
import { type RedisServer } from '../../support/engines/redis-server.js';
import { startProxy } from '../engine-subject.js';
import { eventually, timed } from '../eventually.js';
import { expectUnknownOnce } from '../lost-answer.js';
import { openRedis, startRedis, TIMEOUT_MS } from './redis-subject.js';

/** The scheduler's share, on a machine that does other things too. */
const SLACK_MS = 1000;

async function startReplica(primary: RedisServer): Promise<RedisServer> {
  const replica = await startRedis('--replicaof', '127.0.0.1', `${primary.port}`);
  await eventually(async () => expect(await primary.command('WAIT', 1, 100)).toBe(1));
  return replica;
}

describe('RedisStateStore, when Redis or the way to it fails', () => {
  it('says unknown when the answer of a commit is lost, and does not send it again', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const store = await openRedis(proxy.port);
    const witness = await openRedis(redis.port);
    await expectUnknownOnce(store, proxy, witness);
    expect(await redis.command('XLEN', '{test/p0}/feed')).toBe(2);
  });

  it('says of each commit of a lost batch that it is unknown', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const store = await openRedis(proxy.port);
    const witness = await openRedis(redis.port);
    await committed(store, put('a', 'absent'));
    proxy.mode = 'mute';
    const outcomes = store.commitMany(
      ['b', 'c'].map((key) => ({ partition: PARTITION, writes: [put(key, 'absent')] })),
    );
    await eventually(async () => expect((await listAll(witness)).items).toHaveLength(3));
    proxy.cut();
    for (const outcome of outcomes) expect(await outcome).toMatchObject({ status: 'unknown' });
  });

  it('is not opened on a server that does not have its database', async () => {
    const { port } = await startRedis();
    const opening = timed(openRedis(port, { db: 99 }));
    expect((await opening).error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'Redis refuses database 99: ERR DB index is out of range.',
    });
  });

  it('serves from no other database when its own is refused later, and goes on when it is not', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const store = await openRedis(proxy.port, { db: 3 });
    await committed(store, put('a', 'absent'));
    await redis.command('ACL', 'SETUSER', 'default', '-select');
    proxy.cut();
    await eventually(async () => {
      const message = expect.stringMatching(/^Redis refuses database 3: NOPERM /) as string;
      await expect(getOne(store, 'a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message });
    });
    await expect(store.commit(PARTITION, [put('b', 'absent')])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect(await redis.command('DBSIZE')).toBe(0);
    await redis.command('ACL', 'SETUSER', 'default', '+select');
    await eventually(async () => expect(await getOne(store, 'a')).toBeDefined());
  });

  it('with wait=1 shows and lists nothing that no replica has', async () => {
    const redis = await startRedis('--repl-diskless-sync-delay', '0');
    const replica = await startReplica(redis);
    const store = await openRedis(redis.port, { wait: 1, waitTimeoutMs: 200 });
    const other = await openRedis(redis.port);
    const first = await committed(other, put('a', 'absent'));
    const watch = new Recorder(store, first);
    replica.signal('SIGSTOP');
    const second = await committed(other, put('b', 'absent'));
    await eventually(async () => expect(watch.silences).toHaveLength(1));
    expect(watch.commits).toEqual([]);
    await expect(listAll(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    replica.signal('SIGCONT');
    await watch.reaches(second);
    expect(watch.changes.map(({ key }) => key)).toEqual(['b']);
    await eventually(async () => expect((await listAll(store)).items).toHaveLength(2));
  });

  it('with wait=1 leaves an emptied Redis that can be opened', async () => {
    const redis = await startRedis('--repl-diskless-sync-delay', '0');
    await startReplica(redis);
    const store = await openRedis(redis.port, { wait: 1, waitTimeoutMs: 500 });
    await redis.command('FLUSHALL');
    await eventually(async () => expect(await getOne(store, 'a')).toBeUndefined());
    await expect(openRedis(redis.port)).resolves.toBeDefined();
  });

  it('rejects a commit that cannot be sent, at once', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const store = await openRedis(proxy.port);
    await committed(store, put('a', 'absent'));
    proxy.mode = 'refuse';
    proxy.cut();
    await eventually(async () => {
      const { error, tookMs } = await timed(store.commit(PARTITION, [put('b', 'absent')]));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(tookMs).toBeLessThan(TIMEOUT_MS / 2);
    });
    proxy.mode = 'pass';
    await eventually(() => getOne(store, 'a'));
    expect(await getOne(store, 'b')).toBeUndefined();
  });

  it('answers within its time while Redis hangs, and goes on when it is back', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const first = await committed(store, put('a', 'absent', 'one'));
    redis.signal('SIGSTOP');
    const [read, write] = await Promise.all([
      timed(getOne(store, 'a')),
      timed(store.commit(PARTITION, [put('a', first, 'two')])),
    ]);
    expect(read.error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(write.value).toMatchObject({ status: 'unknown' });
    expect(Math.max(read.tookMs, write.tookMs)).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    const opening = await timed(openRedis(redis.port));
    expect(opening.error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(opening.tookMs).toBeLessThan(2 * TIMEOUT_MS + SLACK_MS);
    const longStopped = await eventually(async () => {
      const attempt = await timed(store.commit(PARTITION, [put('b', 'absent')]));
      expect(attempt.error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      return attempt;
    });
    expect(longStopped.tookMs).toBeLessThan(TIMEOUT_MS);
    redis.signal('SIGCONT');
    await eventually(() => getOne(store, 'a'));
    expect(['one', 'two']).toContain((await getOne(store, 'a'))?.value);
  });

  it('refuses to open where nothing listens, with a reason', async () => {
    const redis = await startRedis();
    await redis.stop();
    await expect(openRedis(redis.port)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('says at a port that does not speak TLS that this may be the reason', async () => {
    const redis = await startRedis();
    await expect(openRedis(`rediss://127.0.0.1:${redis.port}`)).rejects.toThrow(
      `Redis has not answered within ${TIMEOUT_MS} ms. rediss:// needs a port that speaks TLS: does this one?`,
    );
  });

  it('says of Sentinels whether they cannot be reached or do not know the primary', async () => {
    const [nobody] = await freePorts(1);
    await expect(openRedis(`redis+sentinel://127.0.0.1:${nobody}/main`)).rejects.toThrow(
      'Redis is not connected: no Sentinel can be reached.',
    );
    const redis = await startRedis();
    const sentinel = await RedisSentinel.start(redis.port);
    onTestFinished(() => sentinel.destroy());
    await expect(openRedis(`redis+sentinel://127.0.0.1:${sentinel.port}/other`)).rejects.toThrow(
      'Redis is not connected: no Sentinel says where the primary is: ERR No such master with that name.',
    );
  });

  it('refuses to open with a wrong password, with the reason', async () => {
    const redis = await startRedis();
    await redis.command('CONFIG', 'SET', 'requirepass', 'right');
    await expect(openRedis(`redis://:wrong@127.0.0.1:${redis.port}`)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('WRONGPASS'),
    });
    const store = await openRedis(`redis://:right@127.0.0.1:${redis.port}/3`);
    await committed(store, put('a', 'absent'));
  });

  it('keeps everything over a restart from the append-only file, without being opened again', async () => {
    const redis = await startRedis('--appendonly', 'yes');
    const store = await openRedis(redis.port);
    const revision = await committed(store, put('a', 'absent', 'kept'));
    await redis.stop('SIGKILL');
    await expect(getOne(store, 'a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await redis.run();
    await eventually(async () =>
      expect(await getOne(store, 'a')).toEqual({ key: 'a', revision, value: 'kept' }),
    );
    expect(await committed(store, put('a', revision))).toBeGreaterThan(revision);
  });

  it('rejects what Redis has no memory for, and writes nothing of it', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const revision = await committed(store, put('a', 'absent', 'one'));
    await redis.command('CONFIG', 'SET', 'maxmemory', 1);
    await expect(
      store.commit(PARTITION, [put('a', revision, 'two'), put('b', 'absent')]),
    ).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('OOM') });
    await redis.command('CONFIG', 'SET', 'maxmemory', 0);
    expect((await listAll(store)).items).toEqual([{ key: 'a', revision, value: 'one' }]);
    expect(await redis.command('XLEN', '{test/p0}/feed')).toBe(1);
  });

  it('goes on when Redis has forgotten the script', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const first = await committed(store, put('a', 'absent'));
    await redis.command('SCRIPT', 'FLUSH');
    await committed(store, put('a', first));
  });
});
