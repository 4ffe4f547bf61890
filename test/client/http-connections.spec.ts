import dns from 'node:dns';
import { networkInterfaces } from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { answer, type RawPeer } from '../support/raw-http-server.js';
import { settled, SimulatedClock } from '../support/simulated-clock.js';
import { until } from '../support/server-bootstrap.js';
import { ask, poolOf, rawServer } from './http-setup.js';

/** Containers may be without. */
const HAS_IPV6 = Object.values(networkInterfaces()).some((its) =>
  its!.some(({ address }) => address === '::1'),
);

type LookUp = [name: string, options: unknown, told: (error: null, addresses: object[]) => void];

const ENDS: Record<string, (peer: RawPeer) => void> = {
  'is ended': (peer) => peer.socket.end(),
  breaks: (peer) => peer.socket.resetAndDestroy(),
};

const BEFORE: Record<string, string> = {
  'before a word of the answer': '',
  'in its status': 'HTTP/1.',
  'in its head': 'HTTP/1.1 200 OK\r\ncontent-',
  'after its head': 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n',
  'in its body': 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell',
  'in a chunk': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel',
  'before the last chunk': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n',
  'in the trailers': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n',
};

describe.each(Object.entries(ENDS))('a connection that %s', (_, end) => {
  it.each(Object.entries(BEFORE))(
    '%s fails the request, and the next has one of its own',
    async (__, text) => {
      const server = await rawServer((request, peer) => {
        if (request.nth > 1) return void peer.say(answer('next'));
        if (text === '') return end(peer);
        peer.socket.write(Buffer.from(text), () => setImmediate(end, peer));
      });
      const pool = poolOf(server);
      expect(await ask(pool).failure).toBeInstanceOf(Error);
      expect(await ask(pool).text).toBe('next');
      expect(server.peers).toHaveLength(2);
    },
  );

  it('while nobody uses it is not used again', async () => {
    const server = await rawServer((request, peer) => peer.say(answer(String(request.nth))));
    const pool = poolOf(server);
    expect(await ask(pool).text).toBe('1');
    end(server.peers[0]!);
    await until(() => server.peers[0]!.isClosed);
    await settled();
    expect(await ask(pool).text).toBe('2');
    expect(server.peers).toHaveLength(2);
  });

  it('at the very moment of the next request fails it once, or answers it', async () => {
    const server = await rawServer((request, peer) => {
      peer.say(answer(String(request.nth)));
      if (request.nth % 2 === 1) end(peer);
    });
    const pool = poolOf(server);
    for (let n = 0; n < 50; n++) {
      const first = ask(pool);
      await first.body.catch(() => {});
      const next = ask(pool);
      await next.body.catch(() => {});
      expect([first.end, next.end]).not.toContain(undefined);
    }
  });
});

describe('a request that is given up', () => {
  /** More than a peer that does not read takes in, and less than the system takes from the client at once. */
  const LONG = { method: 'POST', body: 'x'.repeat(300_000) };

  it('does not arrive any more, as far as it has not yet', async () => {
    const server = await rawServer(() => {});
    let begun = false;
    server.onConnection = ({ socket }) =>
      socket.once('data', () => {
        begun = true;
        socket.pause();
      });
    const asked = ask(poolOf(server), '/', LONG);
    await until(() => begun);
    await settled();
    asked.abandon();
    const [peer] = server.peers;
    peer!.socket.resume();
    await until(() => peer!.isEnded || peer!.isClosed);
    expect(server.requests).toEqual([]);
  });

  it('leaves a stream that has been answered without breaking it', async () => {
    const server = await rawServer((_, peer) => peer.say('HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n'));
    const asked = ask(poolOf(server));
    await until(() => asked.head !== undefined);
    asked.abandon();
    await until(() => server.peers[0]!.isEnded);
  });
});

describe('a connection on which nothing was asked', () => {
  it.each(['x', 'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n'])(
    'and something is said is closed: %j',
    async (text) => {
      const server = await rawServer((request, peer) => peer.say(answer(String(request.nth))));
      const pool = poolOf(server);
      expect(await ask(pool).text).toBe('1');
      server.peers[0]!.say(text);
      await until(() => server.peers[0]!.isEnded || server.peers[0]!.isClosed);
      expect(await ask(pool).text).toBe('2');
      expect(server.peers).toHaveLength(2);
    },
  );
});

describe('a connection that nobody has used for a while', () => {
  async function connectionsAfter(keepAlive: string[], idleMs: number): Promise<number> {
    const clock = new SimulatedClock();
    const server = await rawServer((_request, peer) => peer.say(answer('', ...keepAlive)));
    const pool = poolOf(server, { clock });
    await ask(pool).text;
    await clock.advance(idleMs);
    await ask(pool).text;
    return server.peers.length;
  }

  it.each([
    ['nothing', [], 3999, 4000],
    ['five seconds', ['keep-alive: timeout=5'], 3999, 4000],
    ['a minute', ['Keep-Alive: max=9, timeout=60'], 58_999, 59_000],
    ['a month', ['keep-alive: timeout=2592000'], 598_999, 599_000],
  ])(
    'is used again a second before the server closes it, not later: it says %s',
    async (_, said, yesMs, noMs) => {
      expect(await connectionsAfter(said, yesMs)).toBe(1);
      expect(await connectionsAfter(said, noMs)).toBe(2);
    },
  );

  it.each(['timeout=0', 'timeout=1'])(
    'is closed at once with %s, also where somebody waits',
    async (said) => {
      const server = await rawServer((_request, peer) => peer.say(answer('', `keep-alive: ${said}`)));
      const pool = poolOf(server, { limit: 1 });
      await Promise.all([ask(pool).text, ask(pool).text, ask(pool).text]);
      expect(server.peers).toHaveLength(3);
      await until(() => server.peers.every(({ isEnded, isClosed }) => isEnded || isClosed));
    },
  );

  it('is used after those that were used since', async () => {
    const usedBy: RawPeer[] = [];
    const server = await rawServer(({ line }, peer) => {
      usedBy.push(peer);
      if (!line.includes('slow')) peer.say(answer(''));
    });
    const pool = poolOf(server);
    const slow = ask(pool, '/slow');
    await ask(pool, '/quick').text;
    usedBy[server.requests.findIndex(({ line }) => line.includes('slow'))]!.say(answer(''));
    await slow.text;
    await ask(pool, '/next').text;
    expect(server.peers).toHaveLength(2);
    expect(usedBy[2]).toBe(usedBy[server.requests.findIndex(({ line }) => line.includes('slow'))]);
  });

  it('is left with all others that nobody has used since', async () => {
    const clock = new SimulatedClock();
    const server = await rawServer((_request, peer) => peer.say(answer('')));
    const pool = poolOf(server, { clock });
    await Promise.all(Array.from({ length: 500 }, () => ask(pool).text));
    expect(server.peers).toHaveLength(500);
    await clock.advance(5000);
    await ask(pool).text;
    await until(() => server.peers.slice(0, 500).every(({ isEnded, isClosed }) => isEnded || isClosed));
  });
});

describe('a connection that is not there', () => {
  it('is refused with the reason', async () => {
    expect(await ask(poolOf({ url: 'http://127.0.0.1:1' })).failure).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('for want of a name is refused with the reason', async () => {
    const { code } = (await ask(poolOf({ url: 'http://nobody.invalid' })).failure) as { code?: string };
    expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(code);
  });

  it('is waited for ten seconds, on the clock of the client', async () => {
    const clock = new SimulatedClock();
    const server = await rawServer(() => {});
    const asked = ask(poolOf({ url: server.url.replace('http', 'https') }, { clock }));
    await until(() => server.peers.length === 1);
    await clock.advance(9999);
    expect(asked.end).toBeUndefined();
    await clock.advance(1);
    expect(asked.end).toMatchObject({ message: 'no connection within 10000 ms' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves no timer when it is there, or has failed', async () => {
    const clock = new SimulatedClock();
    const server = await rawServer((_request, peer) => peer.say(answer('')));
    await ask(poolOf(server, { clock })).text;
    await ask(poolOf({ url: 'http://127.0.0.1:1' }, { clock })).failure;
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a host', () => {
  /** Any name has both addresses of the loopback. */
  function spyOnLookUp() {
    const addresses = [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ];
    const lookUp = vi
      .spyOn(dns, 'lookup')
      .mockImplementation(((...[, , told]: LookUp) => setImmediate(told, null, addresses)) as never);
    onTestFinished(() => lookUp.mockRestore());
    return lookUp;
  }

  async function isFound(name: string, listensOn: string): Promise<void> {
    const server = await rawServer(({ head }, peer) => peer.say(answer(head.repeat(2000))), listensOn);
    const lookUp = spyOnLookUp();
    const pool = poolOf({ url: `http://${name}:${server.port}` });
    for (let n = 0; n < 2; n++) {
      const head = `GET / HTTP/1.1\r\nhost: ${name}:${server.port}`;
      expect(await ask(pool).text).toBe(head.repeat(2000));
    }
    expect(server.peers).toHaveLength(1);
    expect(lookUp).toHaveBeenCalledTimes(name === 'both.test' ? 1 : 0);
  }

  it('is found at the second of its addresses', () => isFound('both.test', '127.0.0.1'));
  it.skipIf(!HAS_IPV6)('is found at the first of its addresses', () => isFound('both.test', '::1'));
  it.skipIf(!HAS_IPV6)('is found by an address of IPv6', () => isFound('[::1]', '::1'));

  it('that is at none of its addresses is refused with the reason', async () => {
    spyOnLookUp();
    expect(await ask(poolOf({ url: 'http://both.test:1' })).failure).toMatchObject({ code: 'ECONNREFUSED' });
  });
});
