import { describe, expect, it, onTestFinished } from 'vitest';
import { committed, getOne, PARTITION, put, Recorder } from '../../../src/stores/contract/harness.js';
import { RedisSentinel } from '../../support/engines/redis-sentinel.js';
import { eventually } from '../eventually.js';
import { openRedis, startRedis } from './redis-subject.js';

describe('RedisStateStore behind Sentinel', () => {
  it('goes on at the replica that Sentinel promotes, and its watch with it', async () => {
    const primary = await startRedis('--repl-diskless-sync-delay', '0');
    const replica = await startRedis('--replicaof', '127.0.0.1', `${primary.port}`);
    const sentinel = await RedisSentinel.start(primary.port);
    onTestFinished(() => sentinel.destroy());
    await eventually(async () => expect(await sentinel.replicas()).toContain(`127.0.0.1:${replica.port}`));
    await eventually(async () =>
      expect(String(await replica.command('INFO', 'replication'))).toContain('master_link_status:up'),
    );
    const store = await openRedis(
      `redis+sentinel://127.0.0.1:${sentinel.port}/main?wait=1&wait_timeout_ms=500`,
    );
    const witness = await openRedis(`redis+sentinel://127.0.0.1:${sentinel.port}/main`);
    const before = await committed(store, put('a', 'absent', 'before'));
    // Which waits for no replica: after the failover there is none to wait for.
    const watch = new Recorder(witness, before);
    await primary.stop('SIGKILL');
    const after = await eventually(async () => {
      const outcome = await store.commit(PARTITION, [put('a', before, 'after')]);
      // The replica has no replica of its own to wait for.
      expect(outcome.status).toBe('unknown');
      return getOne(witness, 'a');
    }, 40_000);
    expect(after).toMatchObject({ value: 'after' });
    expect(after!.revision).toBeGreaterThan(before);
    await watch.reaches(after!.revision);
    expect(watch.changes).toEqual([after]);
  });
});
