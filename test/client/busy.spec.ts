import { expect, it } from 'vitest';
import { GRANTED, SESSION } from '../support/fake-server.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { clientOf, fakeServer, KEY, locksOf, proxyOf, untilQueued } from './setup.js';

/** More than a client has connections for. */
const MANY = 40;

const LONG_POLL = 'POST /lock HTTP';

/** For a server that takes no notice of some requests. */
const SLOW_MS = 10_000;

function askInVain(ask: () => Promise<unknown>): void {
  for (let n = 0; n < MANY; n++) ask().catch(() => undefined);
}

it('a client with many requests under way renews its session and its leases all the same', async () => {
  const server = await fakeServer(({ path }) => {
    if (path === '/sessions') return { body: { ...SESSION, ttl_ms: 600 } };
    if (path === '/lock/renew') return { body: { renewed: true, token: 7, lease_ms: 60_000 } };
    return path === '/lock' ? { body: { ...GRANTED, lease_ms: 60_000 } } : undefined;
  });
  const client = clientOf(server);
  const { hold } = await client.lock({ ...KEY, leaseMs: 60_000 });
  askInVain(() => client.status(KEY));
  await until(() => server.to('/lock/status').length > 1);
  await client.renew(hold!);
  await until(() => server.to(`/sessions/${SESSION.session_id}/renew`).length > 6);
  expect(hold!.isLost).toBe(false);
});

it('a client that is closed with many requests under way leaves nothing', async () => {
  const server = await TestServer.start();
  const proxy = await proxyOf(server);
  const client = clientOf(proxy);
  await client.lock(KEY);
  proxy.modeOf = (line) => (line.startsWith('POST /lock/status') ? 'half-open' : 'pass');
  proxy.freeze();
  askInVain(() => client.status(KEY));
  await until(() => proxy.count('POST /lock/status') > 1);
  await client.close();
  expect(await locksOf(server)).toEqual([]);
});

it('a stream on a server that was left already does not lead back there', async () => {
  const server = await TestServer.with({ sseHeartbeatMs: 1000 }).start();
  const [first, second] = [await proxyOf(server), await proxyOf(server)];
  const holder = clientOf(server);
  const { hold } = await holder.lock(KEY);
  const serverUrls = [first.url, second.url];
  const waiter = clientOf(first, 'n2', { serverUrls, sessionTtlMs: 3000 });
  const waiting = waiter.lock(KEY);
  await untilQueued(server, 1);
  await until(() => first.count('GET /sessions/') === 1);
  first.modeOf = () => 'half-open';
  first.freeze();
  // In the stream's place.
  await until(() => first.count(LONG_POLL) + second.count(LONG_POLL) > 1, SLOW_MS);
  expect(second.count(LONG_POLL)).toBe(1);
  await holder.unlock(hold!, { success: true });
  expect((await waiting).skipped).toBe(true);
});
