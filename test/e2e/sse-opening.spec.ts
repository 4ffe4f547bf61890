import { describe, expect, it } from 'vitest';
import { startInstances } from '../support/instances.js';
import { TestServer } from '../support/server-bootstrap.js';
import { type SseReader } from '../support/server-sse.js';
import { MemoryRefCountStorage } from '../../src/refcount/memory-ref-count-storage.js';

const UPDATE = { type: 'update' };

/** Nothing was told on opening: the first event is one that is made to happen now. */
async function expectNothingTold(server: TestServer, reader: SseReader): Promise<void> {
  const node_id = 'marker';
  await server.post('/locks/release', { type: 'update', resource_id: 'layer', reason: 'make room' });
  const { body } = await server.lock({ ...UPDATE, node_id, wait_ms: 1000 });
  expect(body.acquired).toBe(true);
  await server.unlock({ ...UPDATE, node_id });
  expect((await reader.nextEvent()).json).toMatchObject({ node_id });
}

/** `n1` has done an update; returns the id of its `completed` event. */
async function updated(server: TestServer): Promise<string> {
  const live = await server.subscribe(UPDATE);
  const { token } = (await server.lock(UPDATE)).body;
  await server.unlock(UPDATE);
  for (;;) {
    const { id, json } = await live.nextEvent();
    if (json['token'] !== token) continue;
    live.close();
    return id!;
  }
}

describe('A stream that opens', () => {
  it('is told nothing of a key of which nothing is known', async () => {
    const server = await TestServer.start();
    await expectNothingTold(server, await server.subscribe(UPDATE));
  });

  it('is told a recorded success while it is the newest thing on the key', async () => {
    const server = await TestServer.start();
    const id = await updated(server);
    const { event, json, id: told } = await (await server.subscribe(UPDATE)).nextEvent();
    expect({ event, told }).toEqual({ event: 'completed', told: id });
    expect(json).toMatchObject({ node_id: 'n1', success: true });
  });

  it('is not told a success while the key is held again', async () => {
    const server = await TestServer.start();
    await updated(server);
    await server.lock(UPDATE);
    await expectNothingTold(server, await server.subscribe(UPDATE));
  });

  it('is not told a success after a newer fatal failure', async () => {
    const server = await TestServer.start();
    await updated(server);
    await server.lock(UPDATE);
    await server.unlock({ ...UPDATE, error: '404', fatal: true });
    await expectNothingTold(server, await server.subscribe(UPDATE));
  });

  it('is told the same success again, unless it says that it has seen it', async () => {
    const server = await TestServer.start();
    const id = await updated(server);
    await expectNothingTold(server, await server.subscribe(UPDATE, { 'last-event-id': id }));
  });

  it('is told the success also when its Last-Event-ID is from before all events', async () => {
    const server = await TestServer.start();
    const told = await updated(server);
    for (const before of ['0.0', '1.0']) {
      const reader = await server.subscribe(UPDATE, { 'last-event-id': before });
      expect((await reader.nextEvent()).id).toBe(told);
    }
  });

  it('is told what is newer than its Last-Event-ID, also when the key is held again', async () => {
    const server = await TestServer.start();
    const first = await updated(server);
    const second = await updated(server);
    await server.lock(UPDATE);
    const reader = await server.subscribe(UPDATE, { 'last-event-id': first });
    expect((await reader.nextEvent()).id).toBe(second);
  });

  it('is told the success it missed and then the hand-over that is newer', async () => {
    const server = await TestServer.start();
    const first = await updated(server);
    const second = await updated(server);
    await server.lock(UPDATE);
    await server.lock({ ...UPDATE, node_id: 'n2' });
    const live = await server.subscribe(UPDATE);
    await server.unlock({ ...UPDATE, error: 'x' });
    const assigned = await live.nextEvent();
    expect(assigned).toMatchObject({ event: 'assigned', json: { node_id: 'n2', success: false, error: '' } });
    const reader = await server.subscribe(UPDATE, { 'last-event-id': first });
    expect((await reader.nextEvent()).id).toBe(second);
    const again = await reader.nextEvent();
    expect(again).toEqual(assigned);
  });

  it('is not told another node’s hand-over, unless Last-Event-ID asks for what was missed', async () => {
    const server = await TestServer.start();
    const first = await updated(server);
    await server.lock(UPDATE);
    await server.lock({ ...UPDATE, node_id: 'n2' });
    await server.unlock({ ...UPDATE, error: 'x' });
    const missed = await server.subscribe(UPDATE, { 'last-event-id': first });
    expect(await missed.nextEvent()).toMatchObject({ event: 'assigned', json: { node_id: 'n2' } });
    const other = await server.subscribe({ ...UPDATE, node_id: 'n3' });
    await expectNothingTold(server, await server.subscribe(UPDATE));
    expect((await other.nextEvent()).json).toMatchObject({ node_id: 'marker' });
  });

  it('with a node_id is told that the lock was assigned to it, with the id of the live event', async () => {
    const server = await TestServer.start();
    await server.lock(UPDATE);
    await server.lock({ ...UPDATE, node_id: 'n2' });
    const live = await server.subscribe(UPDATE);
    await server.unlock({ ...UPDATE, error: 'x' });
    const reader = await server.subscribe({ ...UPDATE, node_id: 'n2' });
    expect(await reader.nextEvent()).toEqual(await live.nextEvent());
  });

  it('with a node_id is told its dismissal whatever has happened since, until it is spent', async () => {
    const server = await TestServer.start();
    await server.lock(UPDATE);
    await server.lock({ ...UPDATE, node_id: 'n2' });
    const live = await server.subscribe(UPDATE);
    await server.unlock({ ...UPDATE, error: '404', fatal: true });
    const failed = await live.nextEvent();
    expect(failed).toMatchObject({
      event: 'failed',
      json: { node_id: 'n1', success: false, error: '404', token: expect.any(Number) },
    });
    await server.lock({ ...UPDATE, node_id: 'n3' });
    const reader = await server.subscribe({ ...UPDATE, node_id: 'n2' });
    expect(await reader.nextEvent()).toEqual(failed);
    expect((await server.lock({ ...UPDATE, node_id: 'n2' })).body.code).toBe('OPERATION_FAILED');
    const after = await server.subscribe({ ...UPDATE, node_id: 'n2' });
    await expectNothingTold(server, after);
  });

  it('of another session of the node is not told what concerns the first', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n2');
    await server.lock(UPDATE);
    await server.lock({ ...UPDATE, node_id: 'n2', session_id });
    await server.unlock({ ...UPDATE, error: '404', fatal: true });
    const own = await server.subscribe({ ...UPDATE, node_id: 'n2', session_id });
    expect(await own.nextEvent()).toMatchObject({ event: 'failed' });
    await expectNothingTold(server, await server.subscribe({ ...UPDATE, node_id: 'n2' }));
  });

  it.each([
    ['with the state', undefined],
    ['in a storage of their own', new MemoryRefCountStorage()],
  ])('of a free pull with references (%s) is told so every time', async (_where, storage) => {
    const building = TestServer.with({ completionTtlMs: 60_000 }).onSimulatedTime();
    const server = await (storage ? building.counting(storage) : building).start();
    await server.post('/refcounts/add', { resource_id: 'layer', node_id: 'n5' });
    const since = new Date(server.clock.wallMs()).toISOString();
    await server.clock.advance(1000);
    await server.post('/refcounts/add', { resource_id: 'layer', node_id: 'n6' });
    let lastSeen: Record<string, string> = {};
    for (let times = 0; times < 2; times++) {
      const reader = await server.subscribe({}, lastSeen);
      const { id, event, json } = await reader.nextEvent();
      expect(event).toBe('completed');
      expect(json).toEqual({
        type: 'pull',
        resource_id: 'layer',
        node_id: 'n5',
        success: true,
        error: '',
        completed_at: since,
      });
      lastSeen = { 'last-event-id': id! };
    }
    await server.lock({ absent: true });
    const held = await server.subscribe();
    await server.unlock({ error: 'x' });
    await server.lock({ absent: true, node_id: 'n7' });
    await server.unlock({ node_id: 'n7' });
    expect((await held.nextEvent()).json).toMatchObject({ node_id: 'n7' });
  });

  it('is told what the store holds, not what its instance has seen last', async () => {
    const { servers, connections } = await startInstances(2);
    const [here, there] = [servers[0]!, servers[1]!];
    await updated(here);
    const behind = connections[1]!;
    behind.faults = { heldBack: 1 };
    await here.lock({ ...UPDATE, node_id: 'n2' });
    const reader = await there.subscribe(UPDATE);
    await here.unlock({ ...UPDATE, node_id: 'n2' });
    behind.deliver();
    expect((await reader.nextEvent()).json).toMatchObject({ node_id: 'n2' });
  });

  it('comes before nothing that happens after: between queued and subscribed nothing is lost', async () => {
    const server = await TestServer.start();
    for (let round = 0; round < 20; round++) {
      const resource_id = `layer ${round}`;
      const update = { ...UPDATE, resource_id };
      await server.lock(update);
      await server.lock({ ...update, node_id: 'n2' });
      const [reader] = await Promise.all([
        server.subscribe({ ...update, node_id: 'n2' }),
        server.unlock({ ...update }),
      ]);
      expect((await reader.nextEvent()).json).toMatchObject({ node_id: 'n1', success: true });
      reader.close();
    }
  });
});
