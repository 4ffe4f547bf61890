import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, TestServer, until } from '../support/server-bootstrap.js';
import { holdNextCommit, holdNextGet } from '../support/server-gate.js';
import { START_TIMEOUT_MS, ServerProcess } from '../support/server-process.js';
import { SseReader } from '../support/server-sse.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

/** Its hook runs before those of all modules: it sees the server as a load balancer does at that moment. */
@Injectable()
class Onlooker implements BeforeApplicationShutdown {
  static look: (() => Promise<void>) | undefined;

  async beforeApplicationShutdown(): Promise<void> {
    await Onlooker.look?.();
    Onlooker.look = undefined;
  }
}

describe('A server that is told to stop', () => {
  it('is first no longer ready, and then answers its long polls', async () => {
    const server = await TestServer.with().plus(Onlooker).start();
    await server.lock();
    const { answer } = await server.longPoll({ node_id: 'n2' });
    let answered = false;
    void answer.then(() => (answered = true));
    let seen: Answer | undefined;
    let ready: number | undefined;
    let early: boolean | undefined;
    Onlooker.look = async () => {
      seen = await server.get('/health/ready');
      ready = await server.metric('holdfast_ready');
      early = answered;
    };
    const closing = server.app.close();
    const { status, body } = await answer;
    await closing;
    expect({ early, ready, status: seen?.status }).toEqual({ early: false, ready: 0, status: 503 });
    expect(seen?.body.details.store.message).toContain('stopping');
    expect(status).toBe(200);
    expect(body).toMatchObject({ acquired: false, skip: false, position: 1, ticket: expect.any(String) });
  });

  it('keeps the place of those whose polls it answered', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const before = await TestServer.with().over(store).onSimulatedTime(clock).start();
    await before.lock();
    const { answer } = await before.longPoll({ node_id: 'n2' });
    await before.app.close();
    const { ticket } = (await answer).body;
    const after = await TestServer.with().over(store).onSimulatedTime(clock).start();
    expect((await after.lock({ node_id: 'n2', ticket })).body).toMatchObject({ position: 1, ticket });
  });

  it('lets nobody wait or follow any more', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    await server.lock();
    const { answer: open } = await server.longPoll({ node_id: 'n2' });
    const lasting = holdNextCommit(store);
    const slow = server.lock({ resource_id: 'slow' });
    await lasting.reached;
    const closing = server.app.close();
    await open;
    const late = await server.lock({ node_id: 'n3', wait_ms: 60_000 });
    expect(late.body).toMatchObject({ position: 2, ticket: expect.any(String) });
    const stream = await server.subscribe().catch(() => undefined);
    await stream?.untilClosed();
    lasting.open();
    expect((await slow).body.acquired).toBe(true);
    await closing;
  });

  it('finishes the answers under way, and waits for no connection after its last', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const reading = holdNextGet(store);
    const agent = new Agent({ keepAlive: true });
    const status = server.get('/lock/status?type=pull&resource_id=layer', { agent });
    await reading.reached;
    const closing = server.app.close();
    await until(async () => !server.app.getHttpServer().listening);
    const start = Date.now();
    reading.open();
    expect((await status).body.held).toBe(false);
    await closing;
    expect(Date.now() - start).toBeLessThan(1000);
    agent.destroy();
  });

  it('destroys its streams instead of ending them', async () => {
    const server = await TestServer.start();
    const session = await server.session('n1');
    const streams = [
      await server.subscribe(),
      await server.stream('/events'),
      await server.stream(`/sessions/${session}/events`),
    ];
    await server.app.close();
    for (const stream of streams) {
      await stream.untilClosed();
      expect(stream.ended).toBe(false);
    }
  });

  it('waits for nobody who keeps a connection open', async () => {
    const server = await TestServer.start();
    const agent = new Agent({ keepAlive: true });
    await server.get('/health/live', { agent });
    const start = Date.now();
    await server.app.close();
    expect(Date.now() - start).toBeLessThan(1000);
    agent.destroy();
  });
});

describe('The process', () => {
  let server: ServerProcess;

  beforeAll(async () => {
    server = await ServerProcess.start({ STORE_URL: 'file:' });
  }, START_TIMEOUT_MS);

  afterAll(() => server?.remove());

  it('exits within 5 s of SIGTERM, whatever is open, and finds everything again', async () => {
    const key = { type: 'pull', resource_id: 'layer' };
    await server.post('/lock', { ...key, node_id: 'n1' });
    const streams = [
      await SseReader.open(server.port, '/events'),
      await SseReader.open(server.port, '/subscribe?type=pull&resource_id=layer'),
    ];
    const poll = longPoll(server.port, { ...key, node_id: 'n2', wait_ms: 60_000 });
    await until(async () => {
      const { body } = await server.get('/lock/status?type=pull&resource_id=layer');
      return body['queue_length'] === 1;
    });
    const half = connect(server.port, '127.0.0.1').on('error', () => undefined);
    await once(half, 'connect');
    half.write(
      'POST /lock HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    const start = Date.now();
    await server.end('SIGTERM');
    expect(Date.now() - start).toBeLessThan(5000);
    const answer = await poll;
    expect(answer).toMatchObject({ acquired: false, skip: false, position: 1, ticket: expect.any(String) });
    for (const stream of streams) {
      await stream.untilClosed();
      expect(stream.ended).toBe(false);
    }
    half.destroy();
    await server.startAgain();
    const again = await server.post('/lock', { ...key, node_id: 'n2', ticket: answer['ticket'] });
    expect(again.body).toMatchObject({ position: 1, ticket: answer['ticket'] });
  });

  it('says at once what it logs, though it writes in bulk', async () => {
    const quiet = await ServerProcess.start({ LOG_LEVEL: 'info' });
    try {
      await quiet.post('/lock', { type: 'pull', resource_id: 'layer', node_id: 'n1' });
      await until(() => quiet.output.includes('"msg":"granted"'));
      await quiet.post('/unlock', { type: 'pull', resource_id: 'layer', node_id: 'n1' });
      await quiet.end('SIGTERM');
      await until(() => quiet.output.includes('"msg":"completed"'));
      expect(quiet.output).toMatch(/"signal":"SIGTERM","msg":"stopping/);
    } finally {
      await quiet.remove();
    }
  }, 60_000);
});

function longPoll(port: number, body: object): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/lock', headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(JSON.parse(text)));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}
