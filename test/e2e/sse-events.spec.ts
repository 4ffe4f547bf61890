import { describe, expect, it, vi } from 'vitest';
import { EMPTY_STATE } from '../../src/core/state.js';
import { LockManager } from '../../src/locking/lock-manager.js';
import { TestServer, until } from '../support/server-bootstrap.js';

const KEY = { type: 'pull', resource_id: 'layer', node_id: 'n1' };

describe('GET /events', () => {
  it('begins with what is held and awaited', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.lock({ resource_id: 'done' });
    await server.unlock({ resource_id: 'done' });
    const events = await server.stream('/events');
    expect(events.response.headers['x-accel-buffering']).toBe('no');
    const { event, json } = await events.nextEvent();
    expect(event).toBe('snapshot');
    expect(json).toEqual({
      locks: [
        expect.objectContaining({
          type: 'pull',
          resource_id: 'layer',
          held: true,
          queue_length: 1,
          waiters: [{ node_id: 'n2', requested_at: expect.any(String) }],
        }),
      ],
      more: false,
      heartbeat_ms: 15_000,
    });
  });

  it('tells a large snapshot in several frames', async () => {
    const server = await TestServer.start();
    for (let batch = 0; batch < 2; batch++) {
      const requests = Array.from({ length: 250 }, (_, i) => ({ ...KEY, resource_id: `${batch} ${i}` }));
      await server.post('/lock/batch', { requests });
    }
    const events = await server.stream('/events');
    let rows = 0;
    for (;;) {
      const { json } = await events.nextEvent();
      rows += (json['locks'] as unknown[]).length;
      if (json['more'] === false) break;
    }
    expect(rows).toBe(500);
  });

  it('can be followed also while many with long names wait for many keys', async () => {
    const server = await TestServer.start();
    const resources = Array.from({ length: 60 }, (_, i) => `layer ${i}`);
    for (let node = 0; node < 100; node++) {
      const node_id = `${node}`.padEnd(256, '層');
      const requests = resources.map((resource_id) => ({ ...KEY, resource_id, node_id }));
      await server.post('/lock/batch', { requests });
    }
    const events = await server.stream('/events');
    const seen: unknown[] = [];
    for (let more = true; more;) {
      const { json } = await events.nextEvent();
      for (const { waiters } of json['locks'] as { waiters: unknown[] }[]) seen.push(...waiters);
      more = json['more'] as boolean;
    }
    expect(seen).toHaveLength(60 * 99);
  });

  it('lets others be answered while it looks for what is held among all that is known', async () => {
    const server = await TestServer.start();
    let turn = 0;
    let next = setImmediate(function count() {
      turn++;
      next = setImmediate(count);
    });
    const turns = new Set<number>();
    vi.spyOn(server.app.get(LockManager), 'resources').mockImplementation(function* () {
      for (let i = 0; i < 5000; i++) {
        turns.add(turn);
        yield { resourceId: `layer ${i}`, state: EMPTY_STATE };
      }
    });
    const events = await server.stream('/events');
    expect((await events.nextEvent()).json).toEqual({ locks: [], more: false, heartbeat_ms: 15_000 });
    clearImmediate(next);
    expect(turns.size).toBe(5);
  });

  it('waits with a snapshot for a reader that takes its time, and cuts nobody off for it', async () => {
    const server = await TestServer.with({ logLevel: 'warn' }).start();
    const padding = 'x'.repeat(480);
    for (let batch = 0; batch < 80; batch++) {
      const requests = Array.from({ length: 256 }, (_, i) => ({
        ...KEY,
        resource_id: `${padding} ${batch} ${i}`,
      }));
      await server.post('/lock/batch', { requests });
    }
    const socket = await server.connect();
    socket.pause();
    socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n');
    await server.untilGauge('holdfast_open_streams', 1);
    for (let turn = 0; turn < 20; turn++) await server.get('/health/live');
    expect(await server.metric('holdfast_open_streams')).toBe(1);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.resume();
    await until(() => text.endsWith('"more":false,"heartbeat_ms":15000}\n\n\r\n'));
    expect(text.match(/"resource_id":"x+ \d+ \d+"/g)).toHaveLength(80 * 256);
    socket.destroy();
  });

  it('then tells everything that happens, by name', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const events = await server.stream('/events');
    await events.nextEvent();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.lock({ node_id: 'n3' });
    await server.post('/lock/cancel', { ...KEY, node_id: 'n3' });
    await server.unlock({ error: 'disk full' });
    await server.unlock({ node_id: 'n2', error: '404', fatal: true });
    await server.lock({ lease_ms: 1000 });
    await server.clock.advance(1500);
    await server.lock();
    await server.unlock();
    await server.lock({ node_id: 'n4' });
    await server.post('/refcounts/release', { resource_id: 'layer', node_id: 'n4' });
    const told: [string, string][] = [];
    while (told.at(-1)?.[0] !== 'unreferenced') {
      const { event, json, id } = await events.nextEvent();
      expect(id).toMatch(/^\d+\.\d+$/);
      expect(json['resource_id']).toBe('layer');
      expect(json['completed_at']).toMatch(/^\d{4}-.*Z$/);
      told.push([event!, json['node_id'] as string]);
    }
    expect(told).toEqual([
      ['granted', 'n1'],
      ['queued', 'n2'],
      ['queued', 'n3'],
      ['withdrawn', 'n3'],
      ['released', 'n1'],
      ['assigned', 'n2'],
      ['failed', 'n2'],
      ['granted', 'n1'],
      ['expired', 'n1'],
      ['granted', 'n1'],
      ['completed', 'n1'],
      ['referenced', 'n4'],
      ['unreferenced', 'n4'],
    ]);
  });

  it('tells the reason of a forced release, and the session of an asker', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    const { token } = (await server.lock({ session_id })).body;
    const events = await server.stream('/events');
    await events.nextEvent();
    await server.post('/locks/release', { type: 'pull', resource_id: 'layer', reason: 'n1 is gone' });
    expect(await events.nextEvent()).toMatchObject({
      event: 'released',
      json: {
        type: 'pull',
        node_id: 'n1',
        session_id,
        success: false,
        error: 'n1 is gone',
        token,
        reference_count: 0,
      },
    });
  });

  it('has heartbeats', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const events = await server.stream('/events');
    await events.nextEvent();
    await server.clock.advance(15_000);
    expect((await events.next()).lines).toEqual([': heartbeat']);
  });

  it('of hand-over tells a success to those who follow everything only', async () => {
    const server = await TestServer.with({ successPolicy: 'handover', refcountMode: 'client' }).start();
    const everything = await server.stream('/events');
    await everything.nextEvent();
    const key = await server.subscribe();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock();
    expect((await key.nextEvent()).event).toBe('assigned');
    const names = [];
    while (names.length < 4) names.push((await everything.nextEvent()).event);
    expect(names).toEqual(['granted', 'queued', 'completed', 'assigned']);
  });
});
