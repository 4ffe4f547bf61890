import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ClosedError } from '../../src/client/index.js';
import { GRANTED } from '../support/fake-server.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { clientOf, fakeServer, KEY, locksOf, proxyOf, untilEmpty, untilQueued } from './setup.js';

const REASON = new Error('enough');

describe('an abort', () => {
  it('before anything was asked asks nothing', async () => {
    const server = await TestServer.start();
    const proxy = await proxyOf(server);
    await expect(clientOf(proxy).lock(KEY, { signal: AbortSignal.abort(REASON) })).rejects.toBe(REASON);
    await sleep(20);
    expect(proxy.requests).toEqual([]);
  });

  it('while a session is being opened asks for nothing', async () => {
    const aborter = new AbortController();
    const server = await fakeServer(({ path }) => {
      if (path === '/sessions') aborter.abort(REASON);
      return path.startsWith('/lock') ? { body: GRANTED } : undefined;
    });
    const client = clientOf(server);
    await expect(client.lock(KEY, { signal: aborter.signal })).rejects.toBe(REASON);
    await client.lock({ ...KEY, resourceId: 'another' });
    const asked = server.requests.filter(({ path }) => path.startsWith('/lock'));
    expect(asked).toMatchObject([{ body: { resource_id: 'another' } }]);
  });

  it('while waiting leaves the queue', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    await one.lock(KEY);
    const aborter = new AbortController();
    const waiting = two.lock(KEY, { signal: aborter.signal });
    await untilQueued(server, 1);
    aborter.abort(REASON);
    await expect(waiting).rejects.toBe(REASON);
    await until(async () => (await locksOf(server))[0]!.queue_length === 0);
  });

  it('while standing behind another call of the client leaves that alone', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    await client.lock(KEY);
    const aborter = new AbortController();
    const behind = client.lock(KEY, { signal: aborter.signal });
    aborter.abort(REASON);
    await expect(behind).rejects.toBe(REASON);
    expect(await locksOf(server)).toMatchObject([{ held: true, queue_length: 0 }]);
  });

  it('at any moment leaves neither hold nor wait behind', async () => {
    const server = await TestServer.start();
    const other = clientOf(server, 'other');
    const client = clientOf(server, 'n1');
    const outcomes = { aborted: 0, acquired: 0 };
    for (let round = 0; round < 150; round++) {
      const key = { ...KEY, resourceId: `r${round}` };
      const isContended = round % 2 === 0;
      const { hold } = isContended ? await other.lock(key) : {};
      const aborter = new AbortController();
      const asking = client.lock(key, { signal: aborter.signal });
      if (hold) void sleep(Math.random() * 6).then(() => other.unlock(hold, { success: false }));
      await sleep(Math.random() * 10);
      aborter.abort(REASON);
      const result = await asking.catch((error: unknown) => {
        expect(error).toBe(REASON);
        return undefined;
      });
      if (result?.hold) await client.unlock(result.hold, { success: false });
      outcomes[result ? 'acquired' : 'aborted']++;
    }
    await untilEmpty(server);
    expect(outcomes.aborted).toBeGreaterThan(5);
  });

  it('when the grant is on its way gives it back', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    await client.lock({ ...KEY, resourceId: 'warm-up' });
    const aborter = new AbortController();
    const asking = client.lock(KEY, { signal: aborter.signal });
    setImmediate(() => aborter.abort(REASON));
    await expect(asking).rejects.toBe(REASON);
    await until(async () => (await locksOf(server)).length === 1);
  });

  it('lets a later call of the client have the lock', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    for (let round = 0; round < 20; round++) {
      const aborter = new AbortController();
      const asking = client.lock(KEY, { signal: aborter.signal });
      setImmediate(() => aborter.abort(REASON));
      await expect(asking).rejects.toBe(REASON);
      const { hold } = await client.lock(KEY);
      await client.unlock(hold!, { success: true });
    }
  });

  it('of the client itself ends every wait', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    await one.lock(KEY);
    const waiting = two.lock(KEY);
    await untilQueued(server, 1);
    await two.close();
    expect((await waiting).error).toBeInstanceOf(ClosedError);
    expect((await locksOf(server))[0]!.queue_length).toBe(0);
  });
});
