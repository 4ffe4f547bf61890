import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { HoldLostError, LockClient, RefusedError, WaitTimeoutError } from '../../src/client/index.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { clientOf, KEY, locksOf, proxyOf, untilEmpty, untilQueued } from './setup.js';

const DONE = { success: true } as const;

describe('LockClient', () => {
  it('is granted a free lock, with a growing token, and releases it', async () => {
    const client = clientOf(await TestServer.start());
    const first = await client.lock(KEY);
    expect(first).toMatchObject({ acquired: true, skipped: false });
    expect(await client.status(KEY)).toMatchObject({ acquired: true, held: true, holder: { nodeId: 'n1' } });
    await client.unlock(first.hold!, DONE);
    const second = await client.lock(KEY);
    expect(second.hold!.token).toBeGreaterThan(first.hold!.token);
    await client.unlock(KEY, DONE);
    expect((await client.status(KEY)).held).toBe(false);
  });

  it('prints a hold as what it is, without the works', async () => {
    const client = clientOf(await TestServer.start());
    const { hold } = await client.lock(KEY);
    const { token } = hold!;
    expect(inspect(hold)).toBe(inspect({ ...KEY, token, isLost: false }));
  });

  it('waits for another node, and is granted after its failure', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    const { hold } = await one.lock(KEY);
    const waiting = two.lock(KEY);
    await untilQueued(server, 1);
    expect(await one.unlock(hold!, { success: false, error: 'disk full' })).toMatchObject({
      nextHolder: 'n2',
    });
    expect((await waiting).acquired).toBe(true);
  });

  it('is told to skip what another node has done, and by whom', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    const { hold } = await one.lock(KEY);
    const waiting = two.lock(KEY);
    await untilQueued(server, 1);
    await one.unlock(hold!, DONE);
    expect(await waiting).toMatchObject({
      acquired: false,
      skipped: true,
      message: expect.stringContaining('n1'),
    });
  });

  it('tells a fatal failure to those who wait, as a typed error', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    const { hold } = await one.lock(KEY);
    const waiting = two.lock(KEY);
    await untilQueued(server, 1);
    await one.unlock(hold!, { success: false, error: 'no such layer', fatal: true });
    const { error } = await waiting;
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', request: { path: '/lock' } });
    expect(error!.attempts.at(-1)).toMatchObject({ status: 403, url: `${server.url}/` });
  });

  it('does not wait in tryLock, keeps its place in the queue, and can leave it', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    await one.lock(KEY);
    const { queued } = await two.tryLock(KEY);
    expect(queued).toEqual({ position: 1, ticket: expect.any(String) });
    expect((await two.tryLock({ ...KEY, ...queued })).queued).toEqual(queued);
    expect((await two.status(KEY)).position).toBe(1);
    await two.cancel(KEY, queued!.ticket);
    expect((await locksOf(server))[0]!.queue_length).toBe(0);
  });

  it('leaves the queue when its time is over', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    await one.lock(KEY);
    const result = await two.lock(KEY, { waitMs: 50 });
    expect(result).toMatchObject({ acquired: false, skipped: false });
    expect(result.error).toBeInstanceOf(WaitTimeoutError);
    await until(async () => (await locksOf(server))[0]!.queue_length === 0);
  });

  it('lets two calls for one key follow each other, never hold it both', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const { hold } = await client.lock(KEY);
    expect((await client.tryLock(KEY)).error).toMatchObject({ code: 'LOCK_HELD' });
    expect((await client.lock(KEY, { waitMs: 30 })).error).toBeInstanceOf(WaitTimeoutError);
    let isHeldTwice = true;
    const second = client.lock(KEY).then((result) => (isHeldTwice ? undefined : result));
    await client.status(KEY);
    isHeldTwice = false;
    await client.unlock(hold!, DONE);
    expect((await second)?.acquired).toBe(true);
  });

  it('finds a hold lost that was taken away by force', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const { hold } = await client.lock(KEY);
    await server.post('/locks/release', { type: KEY.type, resource_id: KEY.resourceId, reason: 'test' });
    const lost = client.unlock(hold!, DONE);
    await expect(lost).rejects.toBeInstanceOf(HoldLostError);
    await expect(lost).rejects.toThrow('the server does not know it any more (released by force: test)');
  });

  it('is told by its stream why a hold was taken away', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const other = clientOf(server, 'n2');
    const awaited = (await other.lock(KEY)).hold!;
    const waiting = client.lock(KEY);
    await untilQueued(server, 1);
    await other.unlock(awaited, { success: false });
    const { hold } = await waiting;
    await server.post('/locks/release', { type: KEY.type, resource_id: KEY.resourceId, reason: 'test' });
    await until(() => hold!.signal.aborted);
    expect(hold!.signal.reason).toMatchObject({
      why: 'the server has taken it away (released by force: test)',
    });
  });

  it('reports work that ended after its hold was lost as that, and says why it was lost', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const cause = new Error('stopped');
    const run = client.runOnce(KEY, async (hold) => {
      await server.post('/locks/release', { type: KEY.type, resource_id: KEY.resourceId, reason: 'test' });
      await client.renew(hold).catch(() => undefined);
      throw cause;
    });
    const lost = 'the server does not know it any more (released by force: test); the work ended after that';
    await expect(run).rejects.toMatchObject({ why: lost, cause });
  });

  it('renews a lease, and loses the hold when it does not', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const { hold } = await client.lock({ ...KEY, leaseMs: 60_000 });
    await client.renew(hold!, 300);
    await until(() => hold!.signal.aborted);
    expect(hold!.signal.reason).toBeInstanceOf(HoldLostError);
    await expect(client.renew(hold!)).rejects.toBeInstanceOf(HoldLostError);
    await untilEmpty(server);
  });

  it('gives no lease by the way, which would end a hold whose session is alive', async () => {
    const client = clientOf(await TestServer.start());
    const { hold } = await client.lock(KEY);
    await expect(client.renew(hold!, 300)).rejects.toThrow(/only for a hold that was asked for with leaseMs/);
    await expect(client.renew(hold!)).resolves.toBeUndefined();
    expect(hold!.isLost).toBe(false);
  });

  it('counts references', async () => {
    const client = clientOf(await TestServer.start());
    expect(await client.refs.add('layer')).toBe(1);
    expect(await client.refs.add('layer', 'n2')).toBe(2);
    expect(await client.refs.get('layer')).toMatchObject({
      count: 2,
      nodes: [{ nodeId: 'n1' }, { nodeId: 'n2' }],
    });
    expect((await client.lock({ type: 'delete', resourceId: 'layer' })).error).toMatchObject({
      code: 'RESOURCE_IN_USE',
    });
    expect(await client.refs.release('layer', 'n2')).toBe(1);
  });

  it('gives up everything when it is closed', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    const { hold } = await one.lock(KEY);
    await one.lock({ ...KEY, resourceId: 'other' });
    await two.lock({ ...KEY, resourceId: 'third' });
    const waiting = one.lock({ ...KEY, resourceId: 'third' });
    await untilQueued(server, 1);
    await one.close();
    expect((await waiting).error).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(hold!.isLost).toBe(true);
    expect((await one.lock(KEY)).error).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(await locksOf(server)).toMatchObject([{ resource_id: 'third', queue_length: 0 }]);
  });

  it('gives up everything when it is closed although the server that it used last is gone', async () => {
    const server = await TestServer.start();
    const [first, second] = [await proxyOf(server), await proxyOf(server)];
    const client = clientOf(first, 'n1', { serverUrls: [first.url, second.url] });
    await client.lock(KEY);
    first.close();
    await client.close();
    expect(await locksOf(server)).toEqual([]);
  });

  it('is closed by `await using`', async () => {
    const server = await TestServer.start();
    {
      await using client = new LockClient({ serverUrl: server.url, nodeId: 'n1' });
      await client.lock(KEY);
    }
    expect(await locksOf(server)).toEqual([]);
  });

  it('opens a new session when the server has ended the old one, and its holds are lost', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const { hold } = await client.lock(KEY);
    const [{ holder }] = (await server.get('/locks')).body.locks;
    await server.call('DELETE', `/sessions/${holder.session_id}`);
    expect((await client.lock({ ...KEY, resourceId: 'other' })).acquired).toBe(true);
    expect(hold!.isLost).toBe(true);
    expect((await client.lock(KEY)).acquired).toBe(true);
  });
});

describe('calls of one tick', () => {
  it('travel together, up to 256 in a request, after one session for all', async () => {
    const server = await TestServer.start();
    const proxy = await proxyOf(server);
    const client = clientOf(proxy);
    const keys = Array.from({ length: 300 }, (_, n) => ({ type: 'update', resourceId: `r${n}` }));
    const results = await Promise.all(keys.map((key) => client.lock({ ...key, leaseMs: 60_000 })));
    expect(results.every(({ acquired }) => acquired)).toBe(true);
    await Promise.all(results.map(({ hold }) => client.renew(hold!)));
    await Promise.all(results.map(({ hold }) => client.unlock(hold!, DONE)));
    expect(proxy.requests.map((line) => line.split(' ')[1])).toEqual([
      '/sessions',
      '/lock/batch',
      '/lock/batch',
      '/lock/renew/batch',
      '/lock/renew/batch',
      '/unlock/batch',
      '/unlock/batch',
    ]);
  });

  it('go alone where there is one', async () => {
    const server = await TestServer.start();
    const proxy = await proxyOf(server);
    const client = clientOf(proxy);
    const { hold } = await client.lock(KEY);
    await client.unlock(hold!, DONE);
    expect(proxy.requests.map((line) => line.split(' ')[1])).toEqual(['/sessions', '/lock', '/unlock']);
  });
});
