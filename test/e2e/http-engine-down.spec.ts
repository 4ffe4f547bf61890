import { describe, expect, it, onTestFinished } from 'vitest';
import { EngineProxy } from '../support/engines/engine-proxy.js';
import { EtcdCluster } from '../support/engines/etcd-server.js';
import { RedisServer } from '../support/engines/redis-server.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';
import { eventually, timed } from '../stores/eventually.js';

const TIMEOUT_MS = 1000;

/** A lock asks the engine a few times before it gives up. */
const BOUND_MS = 5 * TIMEOUT_MS;

const NOT_ACKNOWLEDGED = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringContaining('Only 0 of 1 replicas have acknowledged'),
};

async function redisPort(): Promise<number> {
  const redis = await RedisServer.start();
  onTestFinished(() => redis.destroy());
  return redis.port;
}

async function etcdPort(): Promise<number> {
  const etcd = await EtcdCluster.start();
  onTestFinished(() => etcd.destroy());
  return etcd.port();
}

describe('The server, when its engine is away', () => {
  it(
    'says in its log and its readiness why, and what was lost, though nobody asks for anything',
    async () => {
      const redis = await RedisServer.start();
      onTestFinished(() => redis.destroy());
      const server = await ServerProcess.start({ STORE_URL: redis.url, LOG_LEVEL: 'warn' });
      onTestFinished(() => server.remove());
      for (const resource_id of ['a', 'b', 'c'])
        await server.post('/lock', { type: 'pull', resource_id, node_id: 'n1' });
      await redis.stop('SIGKILL');
      const said = (words: RegExp) => eventually(async () => expect(server.output).toMatch(words));
      await said(/not seen any more: Redis .*closed/);
      await eventually(async () => {
        const { status, body } = await server.get('/health/ready');
        expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining('ECONNREFUSED')]);
      });
      await said(/"status":503,"code":"NOT_READY","error":"[^"]*ECONNREFUSED/);
      await redis.run();
      await said(/went back: .* and 3 resources/);
      expect(server.output.match(/not seen any more: Redis/g)).toHaveLength(1);
      expect(server.output.match(/are seen again after \d/g)).toHaveLength(1);
    },
    START_TIMEOUT_MS + 60_000,
  );

  it(
    'grants and releases nothing with wait=1 that no replica has, however often it is asked, and goes on by itself',
    async () => {
      const redis = await RedisServer.start(['--repl-diskless-sync-delay', '0']);
      onTestFinished(() => redis.destroy());
      const replica = await RedisServer.start(['--replicaof', '127.0.0.1', `${redis.port}`]);
      onTestFinished(() => replica.destroy());
      await eventually(async () =>
        expect(String(await redis.command('INFO', 'replication'))).toContain('state=online'),
      );
      const server = await ServerProcess.start({ STORE_URL: `${redis.url}?wait=1&wait_timeout_ms=200` });
      onTestFinished(() => server.remove());
      const held = { type: 'pull', resource_id: 'held', node_id: 'n1' };
      const wanted = { ...held, resource_id: 'wanted' };
      expect((await server.post('/lock', held)).body).toMatchObject({ acquired: true });
      replica.signal('SIGSTOP');
      for (let n = 0; n < 2; n++) {
        expect(await server.post('/lock', wanted)).toMatchObject({ status: 503, body: NOT_ACKNOWLEDGED });
        expect(await server.post('/unlock', { ...held, success: true })).toMatchObject({
          status: 503,
          body: NOT_ACKNOWLEDGED,
        });
      }
      replica.signal('SIGCONT');
      await eventually(async () =>
        expect((await server.post('/lock', wanted)).body).toMatchObject({ acquired: true }),
      );
      expect(await server.post('/unlock', { ...held, success: true })).toMatchObject({
        status: 200,
        body: { released: true },
      });
    },
    START_TIMEOUT_MS + 60_000,
  );

  it.each([
    ['redis', redisPort],
    ['etcd', etcdPort],
  ])(
    'is not ready and answers 503 within bounded time on %s, and goes on by itself',
    async (scheme, startEngine) => {
      const proxy = await EngineProxy.start(await startEngine());
      onTestFinished(() => proxy.close());
      const url = `${scheme}://127.0.0.1:${proxy.port}?timeout_ms=${TIMEOUT_MS}`;
      const server = await ServerProcess.start({ STORE_URL: url });
      onTestFinished(() => server.remove());
      const lock = (resource_id: string) =>
        server.post('/lock', { type: 'pull', resource_id, node_id: 'n1' });
      expect(await lock('first')).toMatchObject({ status: 200, body: { acquired: true } });
      expect((await server.get('/health/ready')).status).toBe(200);

      proxy.mode = 'stall';
      const [ready, locked] = await Promise.all([timed(server.get('/health/ready')), timed(lock('second'))]);
      expect(ready.value).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
      expect(locked.value).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
      expect(Math.max(ready.tookMs, locked.tookMs)).toBeLessThan(BOUND_MS);

      proxy.mode = 'pass';
      proxy.cut();
      await eventually(async () => expect((await server.get('/health/ready')).status).toBe(200));
      await eventually(async () =>
        expect(await lock('second')).toMatchObject({ status: 200, body: { acquired: true } }),
      );
    },
    START_TIMEOUT_MS + 60_000,
  );
});
