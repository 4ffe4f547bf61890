import { once } from 'node:events';
import { expect, it } from 'vitest';
import { TestServer } from '../support/server-bootstrap.js';
import { clientOf, KEY, proxyOf } from './setup.js';

const STOP_WITHIN_MS = 400;

it('gives a lost hold to nobody before its work has had the time to stop', async () => {
  const server = await TestServer.start();
  const proxy = await proxyOf(server);
  const client = clientOf(proxy, 'n1', { sessionTtlMs: 2000, stopWithinMs: STOP_WITHIN_MS });
  const { hold } = await client.lock(KEY);
  const next = clientOf(server, 'n2').lock(KEY);
  proxy.modeOf = (line) => (line.includes('/renew') ? 'half-open' : 'pass');
  proxy.freeze();
  await once(hold!.signal, 'abort');
  const toldMs = performance.now();
  expect((await next).acquired).toBe(true);
  expect(performance.now() - toldMs).toBeGreaterThanOrEqual(STOP_WITHIN_MS);
});
