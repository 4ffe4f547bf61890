// The servers that bench/fan-out.mjs compares. `node --expose-gc bench/streams/servers.mjs NAME` serves one on a free port and
// sends the port; then it answers `memory` with the bytes it takes, and `blocked` with the longest time (ms) that its
// event loop has stood still since it was last asked.
import 'reflect-metadata';
import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { AppModule } from '../../dist/app.module.js';
import { createServer as createApp } from '../../dist/server.js';

/** A delay is recorded when it is over. */
const SETTLE_MS = 20;

/** What the app tells its streams, with names of the same length. */
const FRAME = `id: 1794803267073003.0\nevent: completed\ndata: ${JSON.stringify({
  type: 'update',
  resource_id: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d00',
  node_id: 'worker',
  success: true,
  error: '',
  completed_at: '2026-11-16T04:27:48.607Z',
  token: 1794803267073001,
})}\n\n`;

/** Streams that are told when anybody posts: what `node:http` can do, and nothing else. */
function startBare() {
  const streams = new Set();
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.flushHeaders();
      streams.add(response);
      response.once('close', () => streams.delete(response));
      return;
    }
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      JSON.parse(text);
      for (const stream of streams) stream.write(FRAME);
      response.end('{}');
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function startApp(storeUrl) {
  process.env.STORE_URL = storeUrl;
  process.env.LOG_LEVEL = 'warn';
  const app = await createApp(AppModule);
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer();
}

const [name, storeUrl] = process.argv.slice(2);
const server = await (name === 'bare' ? startBare() : startApp(storeUrl));
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

async function answer(question) {
  process.send(await answers[question]());
}

const answers = {
  memory() {
    globalThis.gc();
    return process.memoryUsage().rss;
  },
  async blocked() {
    await setTimeout(SETTLE_MS);
    const longest = delay.max / 1e6;
    delay.reset();
    return longest;
  },
};
process.on('message', (question) => void answer(question));
process.once('disconnect', () => process.exit());
process.send(server.address().port);
