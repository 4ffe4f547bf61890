import { afterAll, beforeAll, describe, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { Downloads, fetchImage } from '../support/layer-download.js';
import { OldGoClient, type OldGoOptions } from '../support/old-go-client.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';

/** Longer than the second after which old clients throw lines away, and than the prompt after a second and a half. */
const DOWNLOAD_MS = 3200;

/** Heartbeats as often as can be: one on the wrong stream is seen at once. */
const SETTINGS = { SSE_HEARTBEAT_MS: '100' };

const layersOf = (image: string) => [1, 2, 3, 4].map((n) => `sha256:${image}-${n}`);

/** Two nodes that fetch one image at the same time; `done` when both have it. */
function twoNodes(
  url: string,
  image: string,
  { type = 'pull', downloads = new Downloads(DOWNLOAD_MS), options = {} as OldGoOptions } = {},
) {
  const clients = [
    new OldGoClient(url, 'node-1', options),
    new OldGoClient(url, 'node-2', { ...options, subscribePath: '/subscribe' }),
  ];
  const layers = layersOf(image);
  const done = Promise.all(clients.map((client) => fetchImage({ client, downloads, type }, layers)));
  return { downloads, layers, done, asked: () => clients.reduce((sum, { asked }) => sum + asked, 0) };
}

for (const mode of ['server', 'client']) {
  describe.concurrent(`old Go clients, with references counted by the ${mode},`, () => {
    let server: ServerProcess;
    const settings = { ...SETTINGS, REFCOUNT_MODE: mode };
    beforeAll(async () => void (server = await ServerProcess.start(settings)), START_TIMEOUT_MS);
    afterAll(() => server?.remove());

    for (const type of ['pull', 'update']) {
      it(`do each ${type} once, and ask no oftener than they must`, async ({ expect }) => {
        const { downloads, done, asked } = twoNodes(server.url, `once-${type}`, { type });
        await done;
        expect(downloads.all).toHaveLength(4);
        expect(downloads.doubled).toEqual([]);
        // 12: of each layer the worker once, the other once, and again when it has thrown the news away.
        expect(asked()).toBeLessThanOrEqual(14);
      });
    }

    for (const [when, takesMs] of [
      ['that took long', DOWNLOAD_MS],
      ['within the first second', 300],
    ] as const) {
      it(`take over promptly after a failure ${when}`, async ({ expect }) => {
        const downloads = new Downloads(takesMs, (n) => (n === 1 ? 'connection reset by registry' : ''));
        const { layers, done } = twoNodes(server.url, `failing-${takesMs}`, { downloads });
        await done;
        for (const layer of layers) {
          const [failed, taken, ...more] = downloads.of(layer);
          expect(more).toEqual([]);
          expect(taken?.node).not.toBe(failed?.node);
          expect(taken!.startedAt - failed!.endedAt).toBeLessThan(1400);
        }
        expect(downloads.doubled).toEqual([]);
      });
    }
  });
}

for (const { signal, mode } of [
  { signal: 'SIGKILL', mode: 'server' },
  { signal: 'SIGTERM', mode: 'client' },
] as const) {
  describe.concurrent(
    `old Go clients, when the server goes by ${signal} and comes back (${mode} mode),`,
    () => {
      let server: ServerProcess;
      const settings = { ...SETTINGS, STORE_URL: 'file:', REFCOUNT_MODE: mode };
      beforeAll(async () => void (server = await ServerProcess.start(settings)), START_TIMEOUT_MS);
      afterAll(() => server?.remove());

      it('do each pull and update once, and after a failure take over', async ({ expect }) => {
        const options = { maxRetries: 100, retryIntervalMs: 200 };
        const failing = new Downloads(DOWNLOAD_MS, (n) => (n === 1 ? 'no space left on device' : ''));
        const pulls = twoNodes(server.url, 'restarted', { options });
        const updates = twoNodes(server.url, 'restarted', { options, type: 'update' });
        const failures = twoNodes(server.url, 'restarted-failing', { options, downloads: failing });
        await sleep(DOWNLOAD_MS / 2);
        await server.end(signal);
        await server.startAgain();
        await Promise.all([pulls.done, updates.done, failures.done]);
        expect(pulls.downloads.all).toHaveLength(4);
        expect(updates.downloads.all).toHaveLength(4);
        expect(failing.all).toHaveLength(8);
        expect([pulls.downloads.doubled, updates.downloads.doubled, failing.doubled]).toEqual([[], [], []]);
      });
    },
  );
}
