import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/common/system-clock.js';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { until } from '../support/server-bootstrap.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const HELD = { type: 'update', resource_id: 'held' };
const AWAITED = { type: 'update', resource_id: 'awaited' };

/** So long that nothing ends by itself while a busy machine starts a server. */
const LONG_MS = 600_000;

const servers: ServerProcess[] = [];
afterAll(() => Promise.all(servers.map((server) => server.remove())));

async function start(environment: Record<string, string>): Promise<ServerProcess> {
  const server = await ServerProcess.start(environment);
  servers.push(server);
  return server;
}

/** `n1` holds one key in a session, and waits for another behind `n2`. */
async function holdAndWait(server: ServerProcess) {
  const { body } = await server.post('/sessions', { node_id: 'n1', ttl_ms: LONG_MS });
  const asker = { node_id: 'n1', session_id: body['session_id'] as string };
  const { token } = (await server.post('/lock', { ...HELD, ...asker })).body;
  await server.post('/lock', { ...AWAITED, node_id: 'n2' });
  const { ticket } = (await server.post('/lock', { ...AWAITED, ...asker })).body;
  expect([token, ticket]).toEqual([expect.any(Number), expect.any(String)]);
  return { asker, token, ticket };
}

async function statusOf(server: ServerProcess, { type, resource_id }: typeof HELD) {
  return (await server.get(`/lock/status?type=${type}&resource_id=${resource_id}`)).body;
}

describe('A session on disk', { timeout: 2 * START_TIMEOUT_MS }, () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'outlives %s, with what it holds and waits for, and then ends as any other',
    async (signal) => {
      const server = await start({ STORE_URL: 'file:' });
      const { asker, token, ticket } = await holdAndWait(server);
      await server.end(signal);
      await server.startAgain();

      const renewed = await server.post(`/sessions/${asker.session_id}/renew`, {});
      expect([renewed.status, renewed.body['ttl_ms']]).toEqual([200, LONG_MS]);
      expect((await server.post('/lock', { ...HELD, ...asker })).body).toMatchObject({
        acquired: true,
        token,
      });
      expect((await server.post('/lock', { ...AWAITED, ...asker })).body).toMatchObject({
        position: 1,
        ticket,
      });
      expect((await server.post('/lock', { ...HELD, node_id: 'n3' })).body).toMatchObject({ position: 1 });

      expect((await server.call('DELETE', `/sessions/${asker.session_id}`)).status).toBe(200);
      expect(await statusOf(server, HELD)).toMatchObject({ holder: { node_id: 'n3' }, queue_length: 0 });
      expect(await statusOf(server, AWAITED)).toMatchObject({ holder: { node_id: 'n2' }, queue_length: 0 });

      await server.end(signal);
      await server.startAgain();
      expect((await server.post(`/sessions/${asker.session_id}/renew`, {})).status).toBe(403);
    },
  );

  it('that has no record any more is over: what it held is given up a time to live after the start', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'data');
    const server = await start({ STORE_URL: `file:${path}`, SESSION_TTL_MS: '300' });
    const { asker } = await holdAndWait(server);
    await server.post('/lock', { ...HELD, node_id: 'n3' });
    await server.end('SIGKILL');
    await removeRecord(path, `s/${asker.session_id}`);
    await server.startAgain();
    expect((await server.post('/lock', { ...HELD, ...asker })).body).toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
    await until(async () => (await statusOf(server, AWAITED))['queue_length'] === 0);
    await until(async () => (await statusOf(server, HELD))['queue_length'] === 0);
    expect(await statusOf(server, HELD)).toMatchObject({ holder: { node_id: 'n3' } });
    await server.remove();
    rmSync(directory, { recursive: true });
  });
});

async function removeRecord(path: string, key: string): Promise<void> {
  const store = new LmdbStateStore(path, new SystemClock());
  await store.open();
  const [item] = await store.get(0, [key]);
  expect(item).toBeDefined();
  await store.commit(0, [{ key, expect: item!.revision, delete: true }]);
  await store.close();
}
