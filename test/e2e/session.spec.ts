import { describe, expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { FaultyStore } from '../support/faulty-store.js';
import { seeded } from '../support/random.js';
import { holdNextCommit, newGate } from '../support/server-gate.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const KEY = { type: 'pull', resource_id: 'layer' };

async function holder(server: TestServer): Promise<string | undefined> {
  return (await server.status()).body.holder?.node_id;
}

describe('A session', () => {
  it('is opened, renewed and ended with exactly the promised fields', async () => {
    const server = await TestServer.start();
    const opened = await server.post('/sessions', { node_id: 'n1', ttl_ms: 3000 });
    expect(opened.status).toBe(200);
    const { session_id } = opened.body;
    const promised = { node_id: 'n1', ttl_ms: 3000, parallel_batches: 1 };
    expect(opened.body).toEqual({ session_id: expect.any(String), ...promised });
    const renewed = await server.post(`/sessions/${session_id}/renew`, {});
    expect([renewed.status, renewed.body]).toEqual([200, { renewed: true, session_id, ttl_ms: 3000 }]);
    for (let times = 0; times < 2; times++) {
      const ended = await server.call('DELETE', `/sessions/${session_id}`);
      expect([ended.status, ended.body]).toEqual([200, { ended: true, session_id }]);
    }
    const late = await server.post(`/sessions/${session_id}/renew`, {});
    expect(late.status).toBe(403);
    expect(late.body).toEqual({
      error: expect.any(String),
      code: 'SESSION_NOT_FOUND',
      message: expect.any(String),
    });
    expect((await server.get(`/sessions/${session_id}/events`)).status).toBe(403);
  });

  it('asks for batches side by side where an engine works on one while the server has the other', async () => {
    const inner = new MemoryStateStore(new SimulatedClock());
    await inner.open();
    const server = await TestServer.with()
      .over(new FaultyStore(inner, seeded(1), {}, true))
      .start();
    expect((await server.post('/sessions', { node_id: 'n1' })).body.parallel_batches).toBe(2);
  });

  it('has the configured time to live unless it asks for another, within bounds', async () => {
    const server = await TestServer.with({ sessionTtlMs: 4321 }).start();
    expect((await server.post('/sessions', { node_id: 'n1' })).body.ttl_ms).toBe(4321);
    const wrong = await server.post('/sessions', { node_id: '', ttl_ms: 1 });
    expect([wrong.status, Object.keys(wrong.body.fields).toSorted()]).toEqual([400, ['node_id', 'ttl_ms']]);
  });

  it('covers what it holds and waits for as long as it is renewed', async () => {
    const server = await TestServer.with({ waiterTtlMs: 1000, defaultLeaseMs: 1000 })
      .onSimulatedTime()
      .start();
    const [s1, s2] = [await server.session('n1'), await server.session('n2')];
    const held = await server.lock({ session_id: s1 });
    expect(held.body).toMatchObject({ acquired: true, lease_ms: 0 });
    await server.lock({ node_id: 'n2', session_id: s2 });
    for (let renewals = 0; renewals < 5; renewals++) {
      await server.clock.advance(9000);
      for (const id of [s1, s2]) expect((await server.post(`/sessions/${id}/renew`, {})).status).toBe(200);
    }
    expect((await server.status()).body).toMatchObject({ holder: { node_id: 'n1' }, queue_length: 1 });
  });

  it('that is ended gives up what it holds and waits for, in the same breath', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    await server.lock({ session_id });
    await server.lock({ node_id: 'n2' });
    await server.lock({ resource_id: 'other', node_id: 'n2' });
    await server.lock({ resource_id: 'other', session_id });
    await server.call('DELETE', `/sessions/${session_id}`);
    expect(await holder(server)).toBe('n2');
    expect((await server.status({ resource_id: 'other' })).body.queue_length).toBe(0);
    expect((await server.lock({ session_id })).body.code).toBe('SESSION_NOT_FOUND');
  });

  it('that is not renewed gives up what it holds and waits for', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const session_id = await server.session('n1', 2000);
    await server.lock({ session_id });
    await server.lock({ node_id: 'n2' });
    await server.clock.advance(1900);
    expect(await holder(server)).toBe('n1');
    await server.clock.advance(400);
    expect(await holder(server)).toBe('n2');
    expect((await server.post(`/sessions/${session_id}/renew`, {})).status).toBe(403);
  });

  it('makes an asker of its own: two processes of a node wait for each other', async () => {
    const server = await TestServer.start();
    const [one, two] = [await server.session('n1'), await server.session('n1')];
    const first = await server.lock({ session_id: one });
    expect((await server.lock({ session_id: two })).body.position).toBe(1);
    expect((await server.lock()).body.position).toBe(2);
    expect((await server.unlock({ session_id: two })).body.code).toBe('NOT_HOLDER');
    expect((await server.unlock()).body.code).toBe('NOT_HOLDER');
    expect((await server.unlock({ token: first.body.token, error: 'x' })).body.released).toBe(true);
    expect((await server.status({ node_id: 'n1', session_id: two })).body.acquired).toBe(true);
  });

  it('of another node cannot be used', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    expect((await server.lock({ node_id: 'n2', session_id })).body.code).toBe('SESSION_NOT_FOUND');
  });

  it('may end while a request of it is under way: what it is granted then is given up', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const session_id = await server.session('n1');
    const gate = newGate();
    store.onCommit = async (_writes, commit) => {
      store.onCommit = undefined;
      await gate.pass();
      return commit();
    };
    const request = server.lock({ session_id });
    await gate.reached;
    await server.call('DELETE', `/sessions/${session_id}`);
    gate.open();
    await request;
    await until(async () => (await holder(server)) === undefined);
    expect((await server.lock({ node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('that cannot be ended for want of the store is ended when it is back', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const session_id = await server.session('n1', 2000);
    await server.lock({ session_id });
    store.onCommit = () => Promise.reject(new Error('away'));
    await clock.advance(5000);
    expect(await holder(server)).toBe('n1');
    store.onCommit = undefined;
    await clock.advance(1500);
    expect(await holder(server)).toBeUndefined();
  });

  it('survives a restart with a full time to live, and so does what it holds', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const before = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const session_id = await before.session('n1', 10_000);
    const { token } = (await before.lock({ session_id })).body;
    await clock.advance(9000);
    await before.close();
    const after = await TestServer.with().over(store).onSimulatedTime(clock).start();
    await clock.advance(9000);
    expect((await after.lock({ session_id })).body).toMatchObject({ acquired: true, token });
    expect((await after.post(`/sessions/${session_id}/renew`, {})).status).toBe(200);
    await clock.advance(10_500);
    expect(await holder(after)).toBeUndefined();
  });

  it('without a record gives up what it holds a time to live after the start', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const before = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const session_id = await before.session('n1', 60_000);
    await before.lock({ session_id });
    await before.lock({ node_id: 'n2' });
    await before.close();
    await store.remove(`s/${session_id}`);
    const after = await TestServer.with({ sessionTtlMs: 10_000 }).over(store).onSimulatedTime(clock).start();
    expect((await after.lock({ session_id })).body.code).toBe('SESSION_NOT_FOUND');
    await clock.advance(9500);
    expect(await holder(after)).toBe('n1');
    await clock.advance(1000);
    expect(await holder(after)).toBe('n2');
  });

  it('is not told of before it is stored', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const storing = holdNextCommit(store);
    const opening = server.post('/sessions', { node_id: 'n1' });
    await storing.reached;
    const early = new Promise((resolve) => setTimeout(resolve, 30, 'not yet'));
    expect(await Promise.race([opening, early])).toBe('not yet');
    storing.open();
    expect((await opening).status).toBe(200);
  });
});

describe('A session’s stream', () => {
  it('begins with what the session holds and waits for', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    const { token } = (await server.lock({ session_id })).body;
    await server.lock({ resource_id: 'other', node_id: 'n2' });
    const { ticket } = (await server.lock({ resource_id: 'other', session_id })).body;
    const stream = await server.stream(`/sessions/${session_id}/events`);
    expect(stream.response.headers['x-accel-buffering']).toBe('no');
    const { event, json } = await stream.nextEvent();
    expect(event).toBe('snapshot');
    expect(json).toEqual({
      session_id,
      claim_timeout_ms: 10_000,
      heartbeat_ms: 15_000,
      holds: [{ ...KEY, token }],
      waits: [{ type: 'pull', resource_id: 'other', position: 1, ticket }],
      more: false,
    });
  });

  it('begins in several frames where the session waits for more than a slow reader may owe', async () => {
    const server = await TestServer.with({ logLevel: 'warn' }).start();
    const session_id = await server.session('n1');
    const padding = '層'.repeat(500);
    for (let batch = 0; batch < 24; batch++) {
      const keys = Array.from({ length: 250 }, (_, i) => ({
        ...KEY,
        resource_id: `${padding} ${batch} ${i}`,
      }));
      await server.post('/lock/batch', { requests: keys.map((key) => ({ ...key, node_id: 'n2' })) });
      await server.post('/lock/batch', {
        requests: keys.map((key) => ({ ...key, node_id: 'n1', session_id })),
      });
    }
    const socket = await server.connect();
    socket.pause();
    socket.write(`GET /sessions/${session_id}/events HTTP/1.1\r\nhost: x\r\n\r\n`);
    await server.untilGauge('holdfast_open_streams', 1);
    for (let turn = 0; turn < 20; turn++) await server.get('/health/live');
    expect(await server.metric('holdfast_open_streams')).toBe(1);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.resume();
    await until(() => text.endsWith('"more":false}\n\n\r\n'));
    expect(text.match(/"position":1/g)).toHaveLength(24 * 250);
    expect(text.match(/"more":true/g)!.length).toBeGreaterThan(5);
    socket.destroy();
  });

  it('tells what happens to it, and how the work it waits for ends', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    const stream = await server.stream(`/sessions/${session_id}/events`);
    await stream.nextEvent();
    await server.lock({ node_id: 'n2' });
    await server.lock({ session_id });
    await server.lock({ node_id: 'n3' });
    await server.unlock({ node_id: 'n2', error: 'x' });
    await server.unlock({ session_id });
    await server.lock({ resource_id: 'other', node_id: 'n2' });
    await server.lock({ resource_id: 'other', session_id });
    await server.unlock({ resource_id: 'other', node_id: 'n2' });
    const told: unknown[] = [];
    while (told.length < 5) {
      const { event, json } = await stream.nextEvent();
      told.push([event, json['resource_id'], json['node_id']]);
    }
    expect(told).toEqual([
      ['queued', 'layer', 'n1'],
      ['assigned', 'layer', 'n1'],
      ['completed', 'layer', 'n1'],
      ['queued', 'other', 'n1'],
      ['completed', 'other', 'n2'],
    ]);
  });

  it('leaves out on demand what the session knows already, and what concerns others', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    const stream = await server.stream(`/sessions/${session_id}/events?brief=true`);
    await stream.nextEvent();
    await server.lock({ type: 'update', session_id });
    await server.unlock({ type: 'update', session_id });
    await server.lock({ type: 'update', node_id: 'n2' });
    await server.lock({ type: 'update', node_id: 'n3' });
    await server.lock({ type: 'update', session_id });
    await server.unlock({ type: 'update', node_id: 'n2', error: 'x' });
    await server.unlock({ type: 'update', node_id: 'n3', error: 'x' });
    await server.unlock({ type: 'update', session_id, error: 'x' });
    await server.lock({ type: 'update', node_id: 'n2' });
    await server.lock({ type: 'update', session_id });
    await server.unlock({ type: 'update', node_id: 'n2' });
    const told: unknown[] = [];
    while (told.at(-1) !== 'completed n2') {
      const { event, json } = await stream.nextEvent();
      told.push(`${event} ${json['node_id']}`);
    }
    expect(told).toEqual(['assigned n1', 'released n1', 'completed n2']);
  });

  it('has heartbeats, and is cut when the session ends', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const session_id = await server.session('n1', 60_000);
    const stream = await server.stream(`/sessions/${session_id}/events`);
    await stream.nextEvent();
    await server.clock.advance(15_000);
    expect((await stream.next()).lines).toEqual([': heartbeat']);
    await server.call('DELETE', `/sessions/${session_id}`);
    await stream.untilClosed();
    expect(stream.ended).toBe(false);
  });

  it('does not keep the session alive', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const session_id = await server.session('n1', 5000);
    const stream = await server.stream(`/sessions/${session_id}/events`);
    await server.clock.advance(5500);
    await stream.untilClosed();
    expect((await server.post(`/sessions/${session_id}/renew`, {})).status).toBe(403);
  });
});
