import { expect, it, onTestFinished } from 'vitest';
import { RedisServer } from '../support/engines/redis-server.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';

/** Calls of HMGET in the script of a commit; an instance that reads by itself makes more. */
const READS_OF_COMMIT = 2;

it(
  'what an instance has seen it does not read again: a lock and its release are one round trip each',
  async () => {
    const redis = await RedisServer.start();
    onTestFinished(() => redis.destroy());
    const server = await ServerProcess.start({ STORE_URL: redis.url });
    onTestFinished(() => server.remove());
    const key = { type: 'update', resource_id: 'layer', node_id: 'n1' };
    const cycle = async () => {
      expect((await server.post('/lock', key)).body).toMatchObject({ acquired: true });
      expect((await server.post('/unlock', { ...key, success: true })).body).toMatchObject({
        released: true,
      });
    };
    await cycle();
    await redis.command('CONFIG', 'RESETSTAT');
    for (let n = 0; n < 10; n++) await cycle();
    const stats = String(await redis.command('INFO', 'commandstats'));
    const callsOf = (name: string) =>
      Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1]);
    const commits = callsOf('evalsha');
    expect(commits).toBeGreaterThanOrEqual(20);
    // And a heartbeat, if its time has come.
    expect(commits).toBeLessThan(23);
    expect(callsOf('hmget')).toBe(READS_OF_COMMIT * commits);
  },
  START_TIMEOUT_MS + 20_000,
);
