import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../stores/eventually.js';
import { RedisServer } from '../support/engines/redis-server.js';
import { type Reply, ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';

const KEY = { type: 'build', resource_id: 'layer' };
const OTHER = { type: 'build', resource_id: 'other' };

/** Who holds what and how many wait, as an instance has it in memory: nothing of it is read from the store. */
async function seenBy(server: ServerProcess): Promise<string[]> {
  const { body } = await server.get('/locks');
  const locks = body['locks'] as { resource_id: string; holder: { node_id: string }; queue_length: number }[];
  return locks.map((lock) => `${lock.resource_id} ${lock.holder.node_id} ${lock.queue_length}`).sort();
}

const lock = (server: ServerProcess, node_id: string, request: object = {}): Promise<Reply> =>
  server.post('/lock', { ...KEY, node_id, ...request });

/**
 * What `appendfsync everysec` means when a machine fails: what was answered in the last second never happened. Here the
 * file is put back as it was; it is synced always, so that it is known what was in it.
 */
describe('Instances over a Redis that comes back without its last second', () => {
  let redis: RedisServer;
  let here: ServerProcess;
  let there: ServerProcess;
  let copy: string;

  async function startInstance(): Promise<ServerProcess> {
    const server = await ServerProcess.start({ STORE_URL: redis.url });
    onTestFinished(() => server.remove());
    return server;
  }

  /** Whatever happens now is lost. */
  async function loses(happens: () => Promise<void>): Promise<void> {
    redis.copyDirectory(copy);
    await happens();
    await redis.stop('SIGKILL');
    redis.putBack(copy);
    await redis.run();
    for (const server of [here, there]) {
      await eventually(async () => expect((await server.get('/health/ready')).status).toBe(200));
    }
  }

  beforeEach(async () => {
    copy = mkdtempSync(join(tmpdir(), 'holdfast-aof-'));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    redis = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'always']);
    onTestFinished(() => redis.destroy());
    [here, there] = await Promise.all([startInstance(), startInstance()]);
  }, START_TIMEOUT_MS);

  it('go back with it at once, without a command, and nobody waits for what is lost', async () => {
    await lock(here, 'n1');
    let poll: Promise<Reply> | undefined;
    await loses(async () => {
      await lock(there, 'n2');
      await lock(here, 'n3', OTHER);
      poll = lock(there, 'n4', { wait_ms: 60_000 });
      for (const server of [here, there]) {
        await eventually(async () => expect(await seenBy(server)).toEqual(['layer n1 2', 'other n3 0']));
      }
    });
    for (const server of [here, there]) {
      await eventually(async () => expect(await seenBy(server)).toEqual(['layer n1 0']));
    }
    const answer = await poll!;
    expect(answer.body).toMatchObject({ acquired: false });
    expect(answer.body).not.toHaveProperty('position');
  });

  it('know no session that was made, ended or moved in it', async () => {
    const sessionOf = async (node_id: string) =>
      String((await here.post('/sessions', { node_id, ttl_ms: 600_000 })).body['session_id']);
    const renewed = async (server: ServerProcess, id: string) =>
      (await server.post(`/sessions/${id}/renew`, {})).status;
    const [ended, moved] = [await sessionOf('n1'), await sessionOf('n2')];
    let made = '';
    await loses(async () => {
      made = await sessionOf('n3');
      expect((await here.call('DELETE', `/sessions/${ended}`)).status).toBe(200);
      expect(await renewed(there, moved)).toBe(200);
    });
    for (const server of [here, there]) {
      await eventually(async () => expect(await renewed(server, made)).toBe(403));
      await eventually(async () => expect(await renewed(server, ended)).toBe(200));
      await eventually(async () => expect(await renewed(server, moved)).toBe(200));
    }
  });

  it('never give out a token again, nor a smaller one', async () => {
    let highest = 0;
    const told = async (server: ServerProcess, node: string) => {
      const token = Number((await lock(server, node)).body['token']);
      expect(token).toBeGreaterThan(highest);
      highest = token;
      await server.post('/unlock', { ...KEY, node_id: node, error: 'x' });
    };
    for (let round = 1; round <= 3; round++) {
      await told(here, 'n1');
      await loses(async () => {
        for (const server of [here, there, here, there]) await told(server, 'n1');
      });
      await told(there, 'n1');
      await told(await startInstance(), 'n2');
    }
  });
});
