import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { HoldfastError, HoldLostError } from '../../src/client/index.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';
import { clientOf } from './setup.js';

const CLIENTS = 24;
const KEYS = 6;

it(
  'ends every run in one way and does every piece of work once, through kills and restarts of the server',
  async () => {
    const server = await ServerProcess.start({ STORE_URL: 'file:', SESSION_TTL_MS: '30000' });
    onTestFinished(() => server.remove());
    const done = new Map<string, number>();
    const ends = { executed: 0, skipped: 0, failed: 0 };
    const options = { maxRetries: 8, retryIntervalMs: 300 };
    const runs = Array.from({ length: CLIENTS }, async (_, n) => {
      const resourceId = `layer-${n % KEYS}`;
      try {
        const { status } = await clientOf(server, `n${n}`, options).runOnce(
          { type: 'pull', resourceId },
          async () => {
            await sleep(2500 + n * 20);
          },
        );
        ends[status]++;
        if (status === 'executed') done.set(resourceId, (done.get(resourceId) ?? 0) + 1);
      } catch (error) {
        expect(error).toBeInstanceOf(HoldfastError);
        expect(error).not.toBeInstanceOf(HoldLostError);
        ends.failed++;
      }
    });
    for (let kill = 0; kill < 2; kill++) {
      await sleep(700);
      await server.end('SIGKILL');
      await server.startAgain();
    }
    await Promise.all(runs);
    expect(ends).toEqual({ executed: KEYS, skipped: CLIENTS - KEYS, failed: 0 });
    expect([...done.values()]).toEqual(Array(KEYS).fill(1));
    const { locks } = (await server.get('/locks')).body as { locks: unknown[] };
    expect(locks).toEqual([]);
  },
  START_TIMEOUT_MS + 60_000,
);
