import { describe, expect, it } from 'vitest';
import { type LockClient } from '../../src/client/index.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { type TcpProxy } from '../support/tcp-proxy.js';
import { clientOf, isStream, KEY, locksOf, proxyOf, untilQueued } from './setup.js';

const isLongPoll = (proxy: TcpProxy, server: TestServer) =>
  until(async () => (await server.metric('holdfast_long_polls')) > 0 && proxy.requests.length > 0, 10_000);

async function scene(): Promise<{
  server: TestServer;
  proxy: TcpProxy;
  holder: LockClient;
  waiter: LockClient;
}> {
  const server = await TestServer.with({ sseHeartbeatMs: 400 }).start();
  const proxy = await proxyOf(server);
  return { server, proxy, holder: clientOf(server), waiter: clientOf(proxy, 'n2') };
}

const FAILED = { success: false, error: 'x' } as const;

describe('waiting', () => {
  it('asks again only when there is news on the one stream, however many wait', async () => {
    const { server, proxy, holder, waiter } = await scene();
    const keys = Array.from({ length: 20 }, (_, n) => ({ type: 'update', resourceId: `r${n}` }));
    const holds = await Promise.all(keys.map((key) => holder.lock(key)));
    const waits = keys.map((key) => waiter.lock(key));
    await until(async () => (await locksOf(server)).every(({ queue_length }) => queue_length === 1));
    await until(() => proxy.count('GET /sessions/') === 1);
    expect(proxy.count('POST /lock')).toBe(1);
    await Promise.all(holds.map(({ hold }) => holder.unlock(hold!, FAILED)));
    const results = await Promise.all(waits);
    expect(results.every(({ acquired }) => acquired)).toBe(true);
    expect(proxy.count('GET /sessions/')).toBe(1);
  });

  it('misses nothing that happens before the stream is heard', async () => {
    const { server, holder } = await scene();
    for (let round = 0; round < 30; round++) {
      const waiter = clientOf(server, 'n2');
      const { hold } = await holder.lock(KEY);
      const waiting = waiter.lock(KEY);
      await new Promise((resolve) => setTimeout(resolve, round % 10));
      await holder.unlock(hold!, FAILED);
      expect((await waiting).acquired).toBe(true);
      await waiter.close();
    }
  });

  it('goes on after the stream was cut, whatever happened meanwhile', async () => {
    const { server, proxy, holder, waiter } = await scene();
    const { hold } = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await untilQueued(server, 1);
    await until(() => proxy.count('GET /sessions/') === 1);
    proxy.cut(isStream);
    await holder.unlock(hold!, FAILED);
    expect((await waiting).acquired).toBe(true);
  });

  it('takes to long polls where a proxy keeps streams back', async () => {
    const { server, proxy, holder, waiter } = await scene();
    proxy.modeOf = (line) => (isStream(line) ? 'buffer' : 'pass');
    const { hold } = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await isLongPoll(proxy, server);
    await holder.unlock(hold!, { success: true });
    expect((await waiting).skipped).toBe(true);
  });

  it('finds out a stream that went silent', async () => {
    const { server, proxy, holder, waiter } = await scene();
    const { hold } = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await until(() => proxy.count('GET /sessions/') === 1);
    await untilQueued(server, 1);
    proxy.freeze(isStream);
    await holder.unlock(hold!, { success: true });
    expect((await waiting).skipped).toBe(true);
  });

  it('looks every half second where long polls break too', async () => {
    const { server, proxy, holder, waiter } = await scene();
    proxy.modeOf = (line) => (isStream(line) ? 'buffer' : 'pass');
    const { hold } = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await isLongPoll(proxy, server);
    proxy.cut((line) => line.startsWith('POST /lock '));
    await until(() => proxy.count('POST /lock/status') > 1, 10_000);
    await holder.unlock(hold!, { success: true });
    expect((await waiting).skipped).toBe(true);
  });

  it('fails over to another server, with session and ticket', async () => {
    const server = await TestServer.start();
    const [first, second] = [await proxyOf(server), await proxyOf(server)];
    const holder = clientOf(server);
    const { hold } = await holder.lock(KEY);
    const waiter = clientOf(first, 'n2', { serverUrls: [first.url, second.url] });
    const waiting = waiter.lock(KEY);
    await untilQueued(server, 1);
    await until(() => first.count('GET /sessions/') === 1);
    first.close();
    await until(() => second.requests.length > 0, 10_000);
    expect((await locksOf(server))[0]!.queue_length).toBe(1);
    await holder.unlock(hold!, FAILED);
    expect((await waiting).acquired).toBe(true);
    expect(second.count('POST /sessions HTTP')).toBe(0);
  });
});
