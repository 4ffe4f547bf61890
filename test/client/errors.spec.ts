import { describe, expect, it } from 'vitest';
import {
  ClosedError,
  type HoldfastError,
  HoldLostError,
  type LockClient,
  type LockOptions,
  UnavailableError,
  WaitTimeoutError,
} from '../../src/client/index.js';
import { GRANTED } from '../support/fake-server.js';
import { clientOf, fakeServer, KEY } from './setup.js';

const QUEUED = { acquired: false, skip: false, position: 1, ticket: 't' };
const STATUS = { acquired: false, completed: false, success: false, held: false, queue_length: 0 };
const ASKED = { type: KEY.type, resource_id: KEY.resourceId, node_id: 'n1' };

/** Somebody else holds it. */
async function busyServer() {
  return fakeServer(({ path, body }) => {
    if (path === '/lock') return { body: QUEUED };
    if (path === '/lock/batch')
      return { body: { results: body.requests.map(() => ({ status: 200, ...QUEUED })) } };
    if (path === '/lock/cancel') return { body: { cancelled: true } };
    return path === '/lock/status' ? { body: STATUS } : undefined;
  });
}

async function freeServer() {
  return fakeServer(({ path }) => (path === '/lock' ? { body: GRANTED } : undefined));
}

function expectAsked(error: HoldfastError | undefined, asked: object): void {
  expect(error?.request).toMatchObject({ method: 'POST', path: '/lock' });
  expect(JSON.parse(error!.request!.body!)).toEqual(asked);
}

async function errorOf(call: Promise<unknown>): Promise<HoldfastError> {
  return call.then(
    () => expect.unreachable('it did not fail'),
    (error: HoldfastError) => error,
  );
}

describe('the error of a lock that was not granted in time names it and tells what was asked and tried', () => {
  const lock = (options: LockOptions) => async (client: LockClient) =>
    (await client.lock({ ...KEY, subtype: 'x' }, options)).error;
  const runOnce = (options: LockOptions) => (client: LockClient) =>
    errorOf(client.runOnce({ ...KEY, subtype: 'x' }, () => 1, options));

  it.each([
    ['lock', 500, lock({ waitMs: 500 })],
    ['lock without waiting', 0, lock({ waitMs: 0 })],
    ['runOnce', 500, runOnce({ waitMs: 500 })],
    ['runOnce without waiting', 0, runOnce({ waitMs: 0 })],
  ])('%s', async (_name, waitMs, ask) => {
    const server = await busyServer();
    const client = clientOf(server);
    await client.tryLock({ type: 'update', resourceId: 'what opens the session' });
    const error = await ask(client);
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error!.message).toBe(`update layer was not granted within ${waitMs} ms; it leaves the queue.`);
    expectAsked(error, { ...ASKED, session_id: 's-1', subtype: 'x' });
    expect(error!.attempts).toEqual([{ url: `${server.url}/`, ms: expect.any(Number), status: 200 }]);
    expect(error!.cause).toBeUndefined();
  });

  it.each([
    ['lock', '/lock', lock({ waitMs: 500 })],
    ['runOnce', '/lock', runOnce({ waitMs: 500 })],
    ['a session', '/sessions', lock({ waitMs: 500 })],
  ])('%s, from a server that answers %s with 503, which is its cause', async (_name, failing, ask) => {
    const body = { code: 'STORE_UNAVAILABLE', message: 'The store is away.' };
    const server = await fakeServer(({ path }) => (path === failing ? { status: 503, body } : undefined));
    const error = await ask(clientOf(server, 'n1', { retryIntervalMs: 300 }));
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error!.attempts.filter(({ status }) => status === 503)).toHaveLength(server.to(failing).length);
    expect(error!.attempts.at(-1)).toMatchObject({ url: `${server.url}/`, status: 503 });
    expect(error!.cause).toBeInstanceOf(UnavailableError);
    expect(error!.cause).toMatchObject(body);
  });

  it('another call of the client has it', async () => {
    const client = clientOf(await freeServer());
    await client.lock(KEY);
    for (const { error } of [await client.lock(KEY, { waitMs: 0 }), await client.tryLock(KEY)])
      expectAsked(error, { ...ASKED, session_id: 's-1' });
  });
});

it('the error of a call for a lost hold tells what was not sent for that, and why it was lost', async () => {
  const client = clientOf(await freeServer());
  const { hold } = await client.lock(KEY);
  await client.close();
  const calls = { '/unlock': client.unlock(hold!, { success: true }), '/lock/renew': client.renew(hold!) };
  for (const [path, call] of Object.entries(calls)) {
    const error = await errorOf(call);
    expect(error).toBeInstanceOf(HoldLostError);
    expect(error.message).toBe('The hold was lost: the client was closed');
    expect(error.cause).toBe(hold!.signal.reason);
    expect(error.request).toEqual({ method: 'POST', path, body: expect.stringContaining('"token":7') });
  }
});

describe('the error of a call that the closing of the client ends tells what was asked', () => {
  it('of each wait its own', async () => {
    const server = await busyServer();
    const client = clientOf(server);
    const { signal } = new AbortController();
    const resources = ['a', 'b', 'b', 'c'];
    const [a, b, second, c] = resources.map((resourceId, n) =>
      client.lock({ type: 'update', resourceId }, n === 3 ? { signal } : {}),
    );
    const run = errorOf(client.runOnce({ type: 'update', resourceId: 'd' }, () => 1));
    await expect.poll(() => server.requests.some(({ path }) => path.includes('/events'))).toBe(true);
    await client.close();
    const errors = [(await a!).error, (await b!).error, (await c!).error, await run];
    for (const [n, error] of errors.entries()) {
      expect(error).toBeInstanceOf(ClosedError);
      expectAsked(error, { ...ASKED, resource_id: 'abcd'[n], session_id: 's-1' });
    }
    const { error } = await second!;
    expect(error).toBeInstanceOf(ClosedError);
    expectAsked(error, { ...ASKED, resource_id: 'b' });
  });

  it('of each call that comes too late', async () => {
    const client = clientOf(await freeServer());
    const { hold } = await client.lock(KEY);
    await client.close();
    expectAsked((await client.lock(KEY)).error, ASKED);
    expectAsked((await client.tryLock({ ...KEY, ticket: 't' })).error, { ...ASKED, ticket: 't' });
    expectAsked(await errorOf(client.runOnce(KEY, () => 1)), ASKED);
    const failed = { success: false } as const;
    const calls = {
      '/unlock': client.unlock(hold!, failed),
      '/lock/status': client.status(KEY),
      '/lock/cancel': client.cancel(KEY),
      '/refcounts/add': client.refs.add('layer'),
    };
    for (const [path, call] of Object.entries(calls)) {
      const error = await errorOf(call);
      expect(error).toBeInstanceOf(ClosedError);
      expect(error.request).toEqual({ method: 'POST', path, body: expect.stringContaining('layer') });
    }
    const { request } = await errorOf(client.refs.get('layer'));
    expect(request).toEqual({ method: 'GET', path: '/refcounts?resource_id=layer' });
  });
});
