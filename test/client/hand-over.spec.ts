import { describe, expect, it } from 'vitest';
import { TestServer, until } from '../support/server-bootstrap.js';
import { clientOf, KEY, proxyOf, untilEmpty, untilQueued } from './setup.js';

const FAILED = { success: false, error: 'x' } as const;
const DONE = { success: true } as const;

describe('a lock that is handed over', () => {
  it('costs the new holder no request until it is released', async () => {
    const server = await TestServer.start();
    const proxy = await proxyOf(server);
    const [holder, waiter] = [clientOf(server), clientOf(proxy, 'n2')];
    const { hold } = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await untilQueued(server, 1);
    await until(() => proxy.count('GET /sessions/') === 1);
    await holder.unlock(hold!, FAILED);
    const { hold: handed } = await waiting;
    await waiter.unlock(handed!, DONE);
    expect(proxy.count('POST /lock')).toBe(1);
    expect(proxy.count('POST /unlock')).toBe(1);
    await untilEmpty(server);
  });

  it('is claimed by work that takes longer than the server waits for a claim', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 600 }).start();
    const [holder, waiter, next] = [clientOf(server), clientOf(server, 'n2'), clientOf(server, 'n3')];
    const { hold } = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await untilQueued(server, 1);
    const behind = next.lock(KEY);
    await untilQueued(server, 2);
    await holder.unlock(hold!, FAILED);
    const { hold: handed } = await waiting;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(handed!.isLost).toBe(false);
    await waiter.unlock(handed!, FAILED);
    expect((await behind).hold!.token).toBeGreaterThan(handed!.token);
  });

  it('goes round among many without one being left out, or two at a time', async () => {
    const server = await TestServer.with({ successPolicy: 'handover' }).start();
    const clients = Array.from({ length: 6 }, (_, n) => clientOf(server, `n${n}`));
    let inside = 0;
    const tokens: number[] = [];
    const visit = async (client: (typeof clients)[number]) => {
      const { hold } = await client.lock(KEY);
      expect(++inside).toBe(1);
      tokens.push(hold!.token);
      await new Promise(setImmediate);
      inside--;
      await client.unlock(hold!, DONE);
    };
    await Promise.all(
      clients.map(async (client) => {
        for (let turn = 0; turn < 20; turn++) await visit(client);
      }),
    );
    expect(tokens).toHaveLength(120);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    await untilEmpty(server);
  });
});
