import { describe, expect, it } from 'vitest';
import { answer, type RawPeer, type RawRequest } from '../support/raw-http-server.js';
import { settled } from '../support/simulated-clock.js';
import { until } from '../support/server-bootstrap.js';
import { ask, type Asked, poolOf, rawServer } from './http-setup.js';

const CLOSED = 'the client is closed';

/** Keeps requests until the test answers them. */
async function keepingServer() {
  const kept: { request: RawRequest; peer: RawPeer }[] = [];
  const server = await rawServer((request, peer) => kept.push({ request, peer }));
  const lines = () => server.requests.map(({ line }) => line.split(' ')[1]);
  return { server, kept, lines };
}

const isLeft = ({ isEnded, isClosed }: RawPeer) => isEnded || isClosed;

describe('a pool with a limit', () => {
  it('has as many requests under way, and takes the others in their order', async () => {
    const { server, kept, lines } = await keepingServer();
    const pool = poolOf(server, { limit: 2 });
    const asked = Array.from({ length: 10 }, (_, n) => ask(pool, `/${n}`));
    for (let n = 0; n < 10; n++) {
      await until(() => kept.length >= Math.min(10, n + 2));
      expect(server.peers).toHaveLength(2);
      expect(kept).toHaveLength(Math.min(10, n + 2));
      const { request, peer } = kept[n]!;
      peer.say(answer(request.line));
    }
    for (const [n, { text }] of asked.entries()) expect(await text).toBe(`GET /${n} HTTP/1.1`);
    expect(lines().slice(2)).toEqual(Array.from({ length: 8 }, (_, n) => `/${n + 2}`));
  });

  it('has a connection for who waits when one is lost', async () => {
    const server = await rawServer((request, peer) => {
      if (request.line.includes('lost')) peer.socket.resetAndDestroy();
      else peer.say(answer(request.line));
    });
    const pool = poolOf(server, { limit: 1 });
    const asked = ['/lost', '/1', '/lost', '/2'].map((path) => ask(pool, path));
    expect(await asked[0]!.failure).toBeInstanceOf(Error);
    expect(await asked[1]!.text).toContain('/1');
    expect(await asked[2]!.failure).toBeInstanceOf(Error);
    expect(await asked[3]!.text).toContain('/2');
  });

  it('tells everybody when nobody is there', async () => {
    const pool = poolOf({ url: 'http://127.0.0.1:1' }, { limit: 2 });
    const asked = Array.from({ length: 50 }, () => ask(pool));
    for (const { failure } of asked) expect(await failure).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('takes what is asked when an answer ends, or fails, after those who have waited', async () => {
    const server = await rawServer(({ line }, peer) => {
      if (line.includes('lost')) peer.socket.end();
      else peer.say(answer(''));
    });
    const pool = poolOf(server, { limit: 1 });
    const late: Asked[] = [];
    const first = ask(pool, '/lost');
    first.onWord = () => late.push(ask(pool, '/late-1'));
    const second = ask(pool, '/second');
    second.onWord = (word) => word === 'end' && late.push(ask(pool, '/late-2'));
    const third = ask(pool, '/third');
    await third.text;
    await Promise.all(late.map(({ text }) => text));
    expect(server.requests.map(({ line }) => line.split(' ')[1])).toEqual([
      '/lost',
      '/second',
      '/third',
      '/late-1',
      '/late-2',
    ]);
  });
});

describe('who abandons a request', () => {
  it('that waits for a connection has not sent it', async () => {
    const { server, kept, lines } = await keepingServer();
    const pool = poolOf(server, { limit: 1 });
    const [first, second, third] = ['/1', '/2', '/3'].map((path) => ask(pool, path));
    second!.abandon();
    await until(() => kept.length === 1);
    kept[0]!.peer.say(answer('1'));
    await first!.text;
    await until(() => kept.length === 2);
    kept[1]!.peer.say(answer('3'));
    expect(await third!.text).toBe('3');
    expect(lines()).toEqual(['/1', '/3']);
    expect(second!.end).toBeUndefined();
  });

  it('whose connection is not open yet has not sent it', async () => {
    const { server } = await keepingServer();
    const asked = ask(poolOf(server));
    asked.abandon();
    await settled();
    await until(() => server.peers.every(isLeft));
    expect(server.requests).toEqual([]);
    expect([asked.end, asked.head]).toEqual([undefined, undefined]);
  });

  it.each([
    ['is without an answer', ''],
    ['is in its head', 'HTTP/1.1 200 OK\r\n'],
    ['is in its body', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel'],
  ])('that %s closes its connection, and whoever waits has another', async (_, beginning) => {
    const { server, kept } = await keepingServer();
    const pool = poolOf(server, { limit: 1 });
    const asked = ask(pool, '/1');
    const next = ask(pool, '/2');
    await until(() => kept.length === 1);
    kept[0]!.peer.say(beginning);
    await settled();
    asked.abandon();
    asked.abandon();
    await until(() => kept.length === 2 && isLeft(server.peers[0]!));
    kept[1]!.peer.say(answer('2'));
    expect(await next.text).toBe('2');
    expect(asked.end).toBeUndefined();
  });

  it.each(['head', 'data'] as const)('in the middle of its %s hears no end', async (when) => {
    const { server, kept } = await keepingServer();
    const pool = poolOf(server, { limit: 1 });
    const asked = ask(pool, '/1');
    asked.onWord = (word) => word === when && asked.abandon();
    await until(() => kept.length === 1);
    kept[0]!.peer.say('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n1\r\n1\r\n2\r\n0\r\n\r\n');
    await until(() => isLeft(server.peers[0]!));
    expect(asked.end).toBeUndefined();
    const next = ask(pool, '/2');
    await until(() => kept.length === 2);
    kept[1]!.peer.say(answer('2'));
    expect(await next.text).toBe('2');
  });

  it('after its end does nothing to the next on the same connection', async () => {
    const { server, kept } = await keepingServer();
    const pool = poolOf(server, { limit: 1 });
    const asked = ask(pool, '/1');
    const next = ask(pool, '/2');
    asked.onWord = (word) => word === 'end' && asked.abandon();
    await until(() => kept.length === 1);
    kept[0]!.peer.say(answer('1'));
    await asked.text;
    asked.abandon();
    await until(() => kept.length === 2);
    asked.abandon();
    kept[1]!.peer.say(answer('2'));
    expect(await next.text).toBe('2');
    expect(server.peers).toHaveLength(1);
  });
});

describe('a pool that is closed', () => {
  it('tells everybody once, whatever they wait for', async () => {
    const server = await rawServer(({ line }, peer) => {
      if (line.includes('head')) peer.say('HTTP/1.1 200 OK\r\ncontent-');
      if (line.includes('body')) peer.say('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel');
    });
    const pool = poolOf(server, { limit: 4 });
    const asked = ['/nothing', '/head', '/body'].map((path) => ask(pool, path));
    await until(() => asked[2]!.head !== undefined);
    asked.push(ask(pool, '/connecting'), ask(pool, '/waiting'));
    pool.close();
    pool.close();
    for (const { failure } of asked) expect((await failure).message).toContain('the client');
    await until(() => server.peers.every(isLeft));
  });

  it('leaves its idle connections', async () => {
    const server = await rawServer((_request, peer) => peer.say(answer('')));
    const pool = poolOf(server);
    await Promise.all([ask(pool).text, ask(pool).text]);
    pool.close();
    await until(() => server.peers.length === 2 && server.peers.every(isLeft));
  });

  it('says so later, not while it is asked, and not to who has left by then', async () => {
    const pool = poolOf({ url: 'http://127.0.0.1:1' });
    pool.close();
    const asked = ask(pool);
    const left = ask(pool);
    expect(asked.end).toBeUndefined();
    left.abandon();
    expect((await asked.failure).message).toBe(CLOSED);
    expect(left.end).toBeUndefined();
  });

  it.each(['closes it again', 'asks again'])(
    'tells everybody once, also when who is told %s',
    async (then) => {
      const { server, kept } = await keepingServer();
      const pool = poolOf(server, { limit: 1 });
      const asked = ['/1', '/2', '/3'].map((path) => ask(pool, path));
      await until(() => kept.length === 1);
      const again: Asked[] = [];
      for (const one of asked)
        one.onWord = () => (then === 'asks again' ? void again.push(ask(pool)) : pool.close());
      pool.close();
      for (const { failure } of [...asked, ...again]) expect(await failure).toBeInstanceOf(Error);
      expect(server.requests).toHaveLength(1);
    },
  );

  it('does not tell who waited and is abandoned by another who is told', async () => {
    const { server, kept } = await keepingServer();
    const pool = poolOf(server, { limit: 1 });
    const [first, second, third] = ['/1', '/2', '/3'].map((path) => ask(pool, path));
    await until(() => kept.length === 1);
    first!.onWord = () => second!.abandon();
    pool.close();
    expect((await third!.failure).message).toBe(CLOSED);
    expect(second!.end).toBeUndefined();
  });

  it('by who hears of the end of an answer has one end', async () => {
    const server = await rawServer((_request, peer) => peer.say(answer('')));
    const pool = poolOf(server, { limit: 1 });
    const asked = ask(pool);
    const waiting = ask(pool);
    asked.onWord = (word) => word === 'head' && pool.close();
    expect(await asked.failure).toBeInstanceOf(Error);
    expect(await waiting.failure).toBeInstanceOf(Error);
  });
});
