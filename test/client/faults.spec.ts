import { describe, expect, it } from 'vitest';
import {
  BadRequestError,
  HoldfastError,
  HoldLostError,
  ProtocolError,
  QueueFullError,
  UnavailableError,
  WaitTimeoutError,
} from '../../src/client/index.js';
import { type FakeAnswer, GRANTED, SESSION } from '../support/fake-server.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { until } from '../support/server-bootstrap.js';
import { clientOf, fakeServer, KEY } from './setup.js';

const DONE = { success: true } as const;
const STATUS = { acquired: false, completed: false, success: false, held: false, queue_length: 0 };
const HELD = { ...STATUS, acquired: true, held: true, holder: { token: 7 } };
const QUEUED = { acquired: false, skip: false, position: 1, ticket: 't' };
const LATER: FakeAnswer = { status: 503, body: { code: 'X', message: 'later' } };
const RELEASED: FakeAnswer = { body: { released: true, message: 'lock released' } };

describe('a request that fails', () => {
  it.each([429, 500, 502, 503, 504])('with %i is tried again', async (status) => {
    const server = await fakeServer(({ path }, nth) => {
      if (path !== '/lock') return undefined;
      return nth < 3 ? { status, body: { code: 'X', message: 'later' } } : { body: GRANTED };
    });
    const { hold } = await clientOf(server).lock(KEY);
    expect(hold?.token).toBe(7);
    expect(server.to('/lock')).toHaveLength(3);
  });

  it('because nobody listens says where, and why', async () => {
    const client = clientOf({ url: 'http://127.0.0.1:1' }, 'n1', { maxRetries: 0 });
    const { error } = await client.tryLock(KEY);
    expect(error!.message).toBe('No answer from http://127.0.0.1:1/ (connect ECONNREFUSED 127.0.0.1:1)');
  });

  it('waits as long as Retry-After says', async () => {
    const sent: number[] = [];
    const server = await fakeServer(({ path }, nth) => {
      if (path !== '/lock') return undefined;
      sent.push(performance.now());
      return nth === 1
        ? { status: 503, headers: { 'retry-after': '1' }, body: { code: 'X', message: 'later' } }
        : { body: GRANTED };
    });
    await clientOf(server).lock(KEY);
    expect(sent[1]! - sent[0]!).toBeGreaterThanOrEqual(950);
  });

  it('is given up after maxRetries, and its error tells every try', async () => {
    const server = await fakeServer(({ path }) =>
      path === '/lock'
        ? { status: 503, body: { code: 'STORE_UNAVAILABLE', message: 'no store' } }
        : undefined,
    );
    const { error } = await clientOf(server, 'n1', { maxRetries: 2 }).lock(KEY);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'no store',
      request: { path: '/lock' },
    });
    expect(error!.attempts.map(({ status }) => status)).toEqual([503, 503, 503]);
  });

  it.each([
    [400, { code: 'BAD_REQUEST', message: 'type is wrong' }, BadRequestError],
    [403, { code: 'LOCK_HELD', message: 'held', error: 'held' }, HoldfastError],
  ])('with %i is not tried again', async (status, body, type) => {
    const server = await fakeServer(({ path }) => (path === '/lock' ? { status, body } : undefined));
    const { error } = await clientOf(server).lock(KEY);
    expect(error).toBeInstanceOf(type);
    expect(error!.code).toBe(body.code);
    expect(server.to('/lock')).toHaveLength(1);
  });

  it('for want of room in the queue says so', async () => {
    const body = { code: 'QUEUE_FULL', message: 'full', error: 'full' };
    const server = await fakeServer(({ path }) => (path === '/lock' ? { status: 429, body } : undefined));
    const { error } = await clientOf(server, 'n1', { maxRetries: 1 }).lock(KEY);
    expect(error).toBeInstanceOf(QueueFullError);
    expect(server.to('/lock')).toHaveLength(2);
  });

  it('is tried again when no answer comes in time', async () => {
    const server = await fakeServer(({ path }, nth) =>
      path === '/lock' && nth > 1 ? { body: GRANTED } : undefined,
    );
    const client = clientOf(server, 'n1', { requestTimeoutMs: 100 });
    expect((await client.lock(KEY)).acquired).toBe(true);
    expect(server.to('/lock')).toHaveLength(2);
  });

  it('goes to the next server at once', async () => {
    const broken = await fakeServer(() => undefined);
    broken.close();
    const server = await fakeServer(({ path }) => (path === '/lock' ? { body: GRANTED } : undefined));
    const client = clientOf(server, 'n1', { serverUrls: [broken.url, server.url], retryIntervalMs: 60_000 });
    expect((await client.lock(KEY)).acquired).toBe(true);
  });

  it('in a batch is tried again alone', async () => {
    const server = await fakeServer(({ path, body }) => {
      if (path === '/lock') return { body: { ...GRANTED, token: 9 } };
      if (path !== '/lock/batch') return undefined;
      const full = { status: 503, code: 'X', message: 'later' };
      return {
        body: {
          results: body.requests.map((_: unknown, n: number) =>
            n === 1 ? full : { status: 200, ...GRANTED },
          ),
        },
      };
    });
    const client = clientOf(server);
    const results = await Promise.all(
      ['a', 'b', 'c'].map((resourceId) => client.lock({ type: 'update', resourceId })),
    );
    expect(results.map(({ hold }) => hold?.token)).toEqual([7, 9, 7]);
  });
});

describe('an answer that is not Holdfast’s', () => {
  const answers: [string, FakeAnswer][] = [
    ['no JSON', { body: '<html>' }],
    ['cut JSON', { body: '{"acquired":tr' }],
    ['nothing', { body: '' }],
    ['null', { body: 'null' }],
    ['a list', { body: [] }],
    ['a number', { body: 7 }],
    ['no token', { body: { acquired: true, skip: false } }],
    ['a token that is text', { body: { acquired: true, skip: false, token: '7' } }],
    ['a token that is no whole number', { body: { acquired: true, skip: false, token: 1.5 } }],
    ['a lease below zero', { body: { ...GRANTED, lease_ms: -1 } }],
    ['half a queued answer', { body: { acquired: false, skip: false, position: 1 } }],
    ['a wait that is gone, to one who does not wait', { body: { acquired: false, skip: false } }],
    ['a redirect', { status: 302, headers: { location: '/' }, body: {} }],
    ['404 of another server', { status: 404, body: 'not here' }],
  ];

  it.each(answers)('(%s) is a ProtocolError', async (_name, answer) => {
    const server = await fakeServer(({ path }) => (path === '/lock' ? answer : undefined));
    const { error, acquired } = await clientOf(server).lock(KEY);
    expect(acquired).toBe(false);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error!.request).toMatchObject({ method: 'POST', path: '/lock' });
  });

  it.each(answers.slice(0, 6))('(%s) to a batch is a ProtocolError for each', async (_name, answer) => {
    const server = await fakeServer(({ path }) => (path === '/lock/batch' ? answer : undefined));
    const client = clientOf(server);
    const results = await Promise.all(
      ['a', 'b'].map((resourceId) => client.lock({ type: 'update', resourceId })),
    );
    for (const { error } of results) expect(error).toBeInstanceOf(ProtocolError);
  });

  it.each<[string, unknown]>([
    ['no list', {}],
    ['too few', { results: [] }],
    ['items that are nothing', { results: [null, 7] }],
  ])('to a batch (%s) is a ProtocolError for each', async (_name, body) => {
    const server = await fakeServer(({ path }) => (path === '/lock/batch' ? { body } : undefined));
    const client = clientOf(server);
    const results = await Promise.all(
      ['a', 'b'].map((resourceId) => client.lock({ type: 'update', resourceId })),
    );
    for (const { error } of results) expect(error).toBeInstanceOf(ProtocolError);
  });

  it.each([
    '',
    '{}',
    '{"session_id":7,"ttl_ms":1}',
    '{"session_id":"x","ttl_ms":"1"}',
    '{"session_id":"x","ttl_ms":0}',
  ])('to the opening of a session (%s) is a ProtocolError', async (body) => {
    const server = await fakeServer(() => ({ body }));
    expect((await clientOf(server).lock(KEY)).error).toBeInstanceOf(ProtocolError);
  });

  it('may have been a grant: it is given up', async () => {
    const server = await fakeServer(({ path }) => {
      if (path === '/lock') return { body: '<html>' };
      if (path === '/lock/cancel') return { body: { cancelled: false } };
      if (path === '/lock/status') return { body: HELD };
      return path === '/unlock' ? RELEASED : undefined;
    });
    const client = clientOf(server);
    await client.lock(KEY);
    await expect.poll(() => server.to('/unlock')).toHaveLength(1);
    const { session_id } = SESSION;
    expect(server.to('/unlock')[0]!.body).toMatchObject({ success: false, token: 7, session_id });
  });

  it('or a wait that is gone makes it ask again, with its ticket', async () => {
    const server = await fakeServer(({ path, body }) => {
      if (path.includes('/events')) return { status: 404, body: {} };
      if (path !== '/lock') return undefined;
      if (body.wait_ms) return { body: { acquired: false, skip: false, message: 'no longer queued' } };
      return {
        body: body.ticket === 't' ? GRANTED : { acquired: false, skip: false, position: 1, ticket: 't' },
      };
    });
    expect((await clientOf(server).lock(KEY, { waitMs: 10_000 })).acquired).toBe(true);
    expect(server.to('/lock').map(({ body }) => body.ticket)).toEqual([undefined, 't', 't']);
  });

  it('from a stream makes it poll instead', async () => {
    const server = await fakeServer(({ path, body }) => {
      if (path.includes('/events'))
        return { headers: { 'content-type': 'text/event-stream' }, body: 'event: snapshot\ndata: {{{\n\n' };
      if (path !== '/lock') return undefined;
      return { body: body.wait_ms ? GRANTED : { acquired: false, skip: false, position: 1, ticket: 't' } };
    });
    expect((await clientOf(server).lock(KEY)).acquired).toBe(true);
  });
});

it('a proxy that forbids streams ends neither the session nor what it holds', async () => {
  const server = await fakeServer(({ path, body }) => {
    if (path.includes('/events')) return { status: 403, body: '<html>' };
    if (path !== '/lock' || body.wait_ms) return undefined;
    return { body: body.resource_id === 'free' ? GRANTED : QUEUED };
  });
  const client = clientOf(server);
  const { hold } = await client.lock({ ...KEY, resourceId: 'free' });
  void client.lock(KEY);
  await until(() => server.to('/lock').some(({ body }) => body.wait_ms > 0));
  await until(() => server.to('/sessions/s-1/renew').length === 1);
  expect(hold!.isLost).toBe(false);
  expect(server.to('/sessions')).toHaveLength(1);
});

describe('the unlock of a success', () => {
  it('whose answer was lost is repeated word by word', async () => {
    const server = await fakeServer(({ path }, nth) => {
      if (path === '/lock') return { body: GRANTED };
      return path === '/unlock' && nth > 1 ? RELEASED : undefined;
    });
    const client = clientOf(server, 'n1', { requestTimeoutMs: 100 });
    expect(await client.runOnce(KEY, () => 42)).toEqual({ status: 'executed', value: 42 });
    const [first, second] = server.to('/unlock');
    expect(second!.body).toEqual(first!.body);
    expect(first!.body).toMatchObject({ token: 7, success: true, session_id: SESSION.session_id });
  });

  it.each(['LOCK_NOT_FOUND', 'STALE_TOKEN', 'NOT_HOLDER', 'SESSION_NOT_FOUND'])(
    'that is refused with %s is a lost hold',
    async (code) => {
      const server = await fakeServer(({ path }) => {
        if (path === '/lock') return { body: GRANTED };
        return path === '/unlock'
          ? { status: 403, body: { code, message: 'gone', error: 'gone' } }
          : undefined;
      });
      const run = clientOf(server).runOnce(KEY, () => 42);
      await expect(run).rejects.toBeInstanceOf(HoldLostError);
    },
  );

  it('is not even sent when the hold may be lost, though the server would take it', async () => {
    const server = await fakeServer(({ path }) => {
      if (path === '/sessions') return { body: { ...SESSION, ttl_ms: 300 } };
      if (path.endsWith('/renew')) return { status: 503, body: { code: 'X', message: 'later' } };
      if (path === '/lock') return { body: GRANTED };
      return path === '/unlock' ? RELEASED : undefined;
    });
    const run = clientOf(server).runOnce(KEY, async (hold) => {
      await expect.poll(() => hold.signal.aborted).toBe(true);
      return 'too late';
    });
    await expect(run).rejects.toBeInstanceOf(HoldLostError);
    expect(server.to('/unlock').filter(({ body }) => body.success)).toEqual([]);
  });

  it('that nobody answers is an error, and what may be held is given up later', async () => {
    let isBack = false;
    const server = await fakeServer(({ path }) => {
      if (path === '/sessions') return { body: { ...SESSION, ttl_ms: 300 } };
      if (path === '/lock') return { body: GRANTED };
      if (path !== '/unlock') return undefined;
      return isBack ? RELEASED : { status: 503, body: { code: 'X', message: 'later' } };
    });
    const client = clientOf(server, 'n1', { maxRetries: 0 });
    const { hold } = await client.lock(KEY);
    await expect(client.unlock(hold!, DONE)).rejects.toBeInstanceOf(UnavailableError);
    isBack = true;
    await expect.poll(() => server.to('/unlock').at(-1)!.body.success).toBe(false);
  });

  it('that nobody answers keeps the key from being asked for until the hold has certainly ended', async () => {
    let isBack = false;
    const server = await fakeServer(({ path }, nth) => {
      if (path === '/lock') return { body: { ...GRANTED, token: 6 + nth } };
      if (path !== '/unlock') return undefined;
      return isBack ? RELEASED : LATER;
    });
    const client = clientOf(server, 'n1', { maxRetries: 0 });
    const { hold } = await client.lock(KEY);
    await expect(client.unlock(hold!, DONE)).rejects.toBeInstanceOf(UnavailableError);
    expect((await client.lock(KEY)).error).toBeInstanceOf(UnavailableError);
    expect(server.to('/lock')).toHaveLength(1);
    isBack = true;
    expect((await client.lock(KEY)).hold?.token).toBe(8);
    expect(server.to('/unlock').every(({ body }) => body.token === 7)).toBe(true);
  });
});

describe('a hold that was lost', () => {
  it('and reported as a failure is not given up a second time, under a later hold of the key', async () => {
    const clock = new SimulatedClock();
    const server = await fakeServer(({ path }, nth) => {
      if (path === '/lock') return { body: { ...GRANTED, token: 6 + nth, lease_ms: nth === 1 ? 10_000 : 0 } };
      return path === '/unlock' ? RELEASED : undefined;
    });
    const client = clientOf(server, 'n1', { clock, stopWithinMs: 1000 });
    const { hold } = await client.lock(KEY);
    await clock.advance(8000);
    expect(hold!.isLost).toBe(true);
    await client.unlock(hold!, { success: false });
    const { hold: second } = await client.lock(KEY);
    await clock.advance(1000);
    expect(server.to('/unlock').map(({ body }) => body.token)).toEqual([7]);
    expect(second!.isLost).toBe(false);
  });
});

describe('a hold that the stream does not list', () => {
  const OTHER = { type: 'update', resourceId: 'other' };
  const snapshot = JSON.stringify({ holds: [], waits: [{ type: 'update', resource_id: 'other' }] });

  it.each([
    ['is lost if the server does not know it either', STATUS, true],
    ['is lost if it is held again, with another token', { ...HELD, holder: { token: 8 } }, true],
    ['is kept if the server knows it', HELD, false],
  ])('%s', async (_name, status, isLost) => {
    const server = await fakeServer(({ path, body }) => {
      const headers = { 'content-type': 'text/event-stream' };
      if (path.includes('/events')) return { headers, body: `event: snapshot\ndata: ${snapshot}\n\n` };
      if (path === '/lock/status') return { body: status };
      if (path !== '/lock') return undefined;
      return { body: body.resource_id === 'layer' ? GRANTED : QUEUED };
    });
    const client = clientOf(server);
    const { hold } = await client.lock(KEY);
    const waiting = client.lock(OTHER, { signal: AbortSignal.timeout(300) }).catch(() => undefined);
    await expect.poll(() => server.to('/lock/status').length).toBeGreaterThan(0);
    await waiting;
    expect(hold!.isLost).toBe(isLost);
  });
});

describe('who does not wait at all', () => {
  it('is told that the lock is held, once the queue is left', async () => {
    const server = await fakeServer(({ path }) => {
      if (path === '/lock') return { body: QUEUED };
      if (path === '/lock/cancel') return { body: { cancelled: true } };
      return path === '/lock/status' ? { body: STATUS } : undefined;
    });
    const client = clientOf(server);
    expect((await client.lock(KEY, { waitMs: 0 })).error).toBeInstanceOf(WaitTimeoutError);
    expect(server.to('/lock/cancel')).toHaveLength(1);
    await expect(client.runOnce(KEY, () => 1, { waitMs: 0 })).rejects.toBeInstanceOf(WaitTimeoutError);
  });

  it('gets what is free, and not what another call of this client has', async () => {
    const server = await fakeServer(({ path }) => (path === '/lock' ? { body: GRANTED } : undefined));
    const client = clientOf(server);
    expect((await client.lock(KEY, { waitMs: 0 })).acquired).toBe(true);
    expect((await client.lock(KEY, { waitMs: 0 })).error).toBeInstanceOf(WaitTimeoutError);
  });
});

describe('calls of runOnce that are not equal', () => {
  it.each([{ absent: true }, { subtype: 'a' }, { leaseMs: 60_000 }])(
    '(%o) do not share a run',
    async (other) => {
      const server = await fakeServer(({ path }) => {
        if (path === '/lock') return { body: GRANTED };
        return path === '/unlock' ? RELEASED : undefined;
      });
      const client = clientOf(server);
      const runs = [client.runOnce(KEY, () => 1), client.runOnce({ ...KEY, ...other }, () => 2)];
      expect(await Promise.all(runs)).toMatchObject([{ value: 1 }, { value: 2 }]);
    },
  );
});

describe('what a caller without types does', () => {
  const granting = () =>
    fakeServer(({ path }) => {
      if (path === '/lock') return { body: GRANTED };
      return path === '/unlock' ? RELEASED : undefined;
    });

  it.each<[string, unknown, string]>([
    ['an error whose message is no text', Object.assign(new Error('x'), { message: { a: 1 } }), '{ a: 1 }'],
    ['an object without a prototype', Object.create(null), '[Object: null prototype] {}'],
    ['nothing', undefined, 'undefined'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['what cannot be looked at', unspeakable(), 'an error that cannot be described'],
  ])('throwing %s is reported as any failure, and the key is free', async (_name, thrown, error) => {
    const server = await granting();
    const client = clientOf(server);
    const run = client.runOnce(KEY, () => {
      throw thrown;
    });
    const isThrownAgain = run.then(
      () => false,
      (error: unknown) => error === thrown,
    );
    expect(await isThrownAgain).toBe(true);
    expect(server.to('/unlock')[0]!.body).toMatchObject({ success: false, error });
    expect((await client.lock(KEY)).acquired).toBe(true);
  });

  it('an unlock without outcome is refused, and the hold stays as it was', async () => {
    const server = await granting();
    const client = clientOf(server);
    const { hold } = await client.lock(KEY);
    await expect(client.unlock(hold!, undefined as never)).rejects.toBeInstanceOf(BadRequestError);
    expect(server.to('/unlock')).toEqual([]);
    await client.unlock(hold!, DONE);
    expect(server.to('/unlock')[0]!.body).toMatchObject({ token: 7, success: true });
  });

  it('fails alone, not with those that travel with it', async () => {
    const server = await fakeServer(({ path, body }) =>
      path === '/lock/batch'
        ? { body: { results: body.requests.map(() => ({ status: 200, ...GRANTED })) } }
        : undefined,
    );
    const client = clientOf(server);
    const results = await Promise.all(
      ['a', undefined, 'b'].map((resourceId) =>
        client.lock({ type: 'update', resourceId: resourceId as string }),
      ),
    );
    expect(results.map(({ acquired }) => acquired)).toEqual([true, false, true]);
    expect(results[1]!.error).toBeInstanceOf(BadRequestError);
  });

  it('null for options is told in the result, and thrown by runOnce', async () => {
    const client = clientOf({ url: 'http://127.0.0.1:1' });
    expect((await client.lock(KEY, null as never)).error).toBeInstanceOf(BadRequestError);
    await expect(client.runOnce(KEY, () => 1, null as never)).rejects.toBeInstanceOf(BadRequestError);
  });

  it('asking for the users of nothing asks nobody, and does not count none', async () => {
    const server = await granting();
    const { refs } = clientOf(server);
    for (const call of ['get', 'add', 'release'] as const)
      await expect(refs[call](undefined as never)).rejects.toBeInstanceOf(BadRequestError);
    expect(server.requests).toEqual([]);
  });

  it('renewing what is no hold is refused', async () => {
    const client = clientOf({ url: 'http://127.0.0.1:1' });
    for (const held of [KEY, undefined])
      await expect(client.renew(held as never)).rejects.toBeInstanceOf(BadRequestError);
  });

  it('a time to live that is no number is a TypeError', () => {
    expect(() => clientOf({ url: 'http://127.0.0.1:1' }, 'n1', { sessionTtlMs: NaN })).toThrow(TypeError);
  });
});

function unspeakable(): unknown {
  const refuse = () => {
    throw new Error('do not look');
  };
  return new Proxy({}, { get: refuse, getPrototypeOf: refuse, ownKeys: refuse });
}
