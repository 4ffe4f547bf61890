import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { followEvents } from '../../src/cli/event-feed.js';
import { until } from '../support/server-bootstrap.js';
import { SimulatedClock } from '../support/simulated-clock.js';

/** What follows a server that says this on each stream and then only what the test makes it say. */
async function following(snapshot: object) {
  const streams: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`event: snapshot\ndata: ${JSON.stringify({ locks: [], ...snapshot })}\n\n`);
    streams.push(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const clock = new SimulatedClock();
  const seen: string[] = [];
  const cuts: string[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const events = followEvents([url], (why) => cuts.push(why), clock);
  void (async () => {
    for await (const { name } of events) seen.push(name);
  })();
  await until(() => seen.length === 1);
  return { clock, seen, cuts, streams };
}

it.each([
  ['the heartbeats that a server tells', { heartbeat_ms: 200 }, 500],
  ['those that a server has by default', {}, 37_500],
])('a stream that misses two and a half of %s is opened again', async (_name, snapshot, silentMs) => {
  const { clock, seen, cuts, streams } = await following(snapshot);
  await clock.advance(silentMs - 1);
  streams[0]!.write('event: granted\ndata: {}\n\n');
  await until(() => seen.length === 2);
  await clock.advance(silentMs - 1);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  await until(() => cuts.length === 1);
  expect(cuts).toEqual(['nothing was heard for too long']);
  await clock.advance(1000);
  await until(() => streams.length === 2);
});
