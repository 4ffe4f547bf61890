import { describe, expect, it } from 'vitest';
import { type LockEvent } from '../../src/core/events.js';
import { EventBus } from '../../src/subscriptions/event-bus.js';
import { RawConnection } from '../express/servers.js';
import { TestServer, until } from '../support/server-bootstrap.js';

describe('A key’s event stream', () => {
  it.each(['/lock/subscribe', '/subscribe'])('opens at %s with its headers at once', async (path) => {
    const server = await TestServer.with().onSimulatedTime().start();
    const { response } = await server.stream(`${path}?type=pull&resource_id=layer`);
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
  });

  it('has events of exactly this form', async () => {
    const server = await TestServer.start();
    const reader = await server.subscribe();
    const { token } = (await server.lock()).body;
    await server.unlock();
    const { lines, json, id } = await reader.nextEvent();
    const { completed_at } = json;
    expect(completed_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const data = {
      type: 'pull',
      resource_id: 'layer',
      node_id: 'n1',
      success: true,
      error: '',
      completed_at,
      token,
    };
    expect(lines).toEqual([`id: ${id}`, 'event: completed', `data: ${JSON.stringify(data)}`]);
    expect(id).toMatch(/^\d+\.\d+$/);
  });

  it('is gone with its connection, also while its turn has not come on it', async () => {
    const server = await TestServer.start();
    const connection = await RawConnection.open(server.port);
    connection.send('GET /events HTTP/1.1\r\nhost: h\r\n\r\n'.repeat(3));
    await server.untilGauge('holdfast_open_streams', 3);
    connection.socket.destroy();
    await server.untilGauge('holdfast_open_streams', 0);
  });

  it('has ids that grow with time', async () => {
    const server = await TestServer.start();
    const reader = await server.subscribe({ type: 'update' });
    const ids: number[][] = [];
    for (let round = 0; round < 5; round++) {
      await server.lock({ type: 'update' });
      await server.unlock({ type: 'update' });
      ids.push((await reader.nextEvent()).id!.split('.').map(Number));
    }
    const sorted = ids.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);
    expect(ids).toEqual(sorted);
    expect(new Set(ids.map(String)).size).toBe(5);
  });

  it('tells everyone of a hand-over, and nothing of grants, queueing or other keys', async () => {
    const server = await TestServer.start();
    const readers = [await server.subscribe(), await server.subscribe({ node_id: 'n3' })];
    await server.lock();
    await server.lock({ type: 'update' });
    await server.unlock({ type: 'update' });
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'disk full' });
    for (const reader of readers) {
      expect(await reader.nextEvent()).toMatchObject({
        event: 'assigned',
        json: { type: 'pull', node_id: 'n2', success: false, error: '', token: expect.any(Number) },
      });
    }
  });

  it('writes a name with a line break in no way that breaks the stream', async () => {
    const server = await TestServer.start();
    const resource_id = 'a b/ü"\\';
    const reader = await server.subscribe({ resource_id });
    await server.lock({ resource_id });
    await server.unlock({ resource_id, error: 'first\nsecond\r\n\r\ndata: {}', fatal: true });
    const { json, lines } = await reader.nextEvent();
    expect(json).toMatchObject({ resource_id, error: 'first\nsecond\r\n\r\ndata: {}' });
    expect(lines).toHaveLength(3);
  });

  it('without a node_id has no heartbeats', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    const reader = await server.subscribe();
    await server.clock.advance(120_000);
    await server.unlock();
    expect((await reader.next()).event).toBe('completed');
  });

  it('with a node_id has heartbeats', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    const reader = await server.subscribe({ node_id: 'n2' });
    await server.clock.advance(45_500);
    for (let beats = 0; beats < 3; beats++) expect((await reader.next()).lines).toEqual([': heartbeat']);
  });

  it('without a node_id is prompted once, 1.5 s after it opened, when the key would be granted', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const reader = await server.subscribe();
    await server.clock.advance(1499);
    await server.get('/health/live');
    expect(reader.raw).toBe('');
    await server.clock.advance(1);
    expect((await reader.next()).lines).toEqual([': ask again']);
    await server.clock.advance(60_000);
    await server.get('/health/live');
    expect(reader.frames).toEqual([]);
  });

  it('without a node_id is prompted at each later change that makes asking worth while', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 0 }).onSimulatedTime().start();
    await server.lock();
    const reader = await server.subscribe();
    await server.clock.advance(2000);
    await server.get('/health/live');
    expect(reader.raw).toBe('');
    await server.unlock({ error: 'x' });
    expect((await reader.next()).comment).toBe('ask again');
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'x' });
    expect((await reader.next()).event).toBe('assigned');
    expect((await reader.next()).comment).toBe('ask again');
  });

  it('without a node_id is not prompted because others queue', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'x' });
    const reader = await server.subscribe();
    await server.clock.advance(1500);
    expect((await reader.next()).comment).toBe('ask again');
    await server.lock({ node_id: 'n3' });
    await server.unlock({ node_id: 'n2', error: 'x' });
    expect((await reader.next()).event).toBe('assigned');
  });

  it('with a node_id is never prompted', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const reader = await server.subscribe({ node_id: 'n1' });
    await server.clock.advance(10_000);
    await server.get('/health/live');
    expect(reader.raw).toBe('');
  });

  it('with a node_id counts as asking, from the moment it opens', async () => {
    const server = await TestServer.with({ waiterTtlMs: 10_000, defaultLeaseMs: 0 })
      .onSimulatedTime()
      .start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.lock({ node_id: 'n3' });
    await server.clock.advance(9000);
    await server.subscribe({ node_id: 'n2' });
    await server.subscribe();
    await server.clock.advance(60_000);
    const { waiters } = (await server.get('/locks')).body.locks[0];
    expect(waiters.map((waiter: { node_id: string }) => waiter.node_id)).toEqual(['n2']);
  });

  it('claims nothing', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 10_000 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    const reader = await server.subscribe({ node_id: 'n2' });
    await server.unlock({ error: 'x' });
    expect((await reader.nextEvent()).event).toBe('assigned');
    await server.clock.advance(10_500);
    expect((await server.status()).body.held).toBe(false);
  });

  it('is refused in plain JSON when its query is wrong', async () => {
    const server = await TestServer.start();
    const wrong: [string, string[]][] = [
      ['', ['resource_id', 'type']],
      ['type=pull&resource_id=a&resource_id=b', ['resource_id']],
      ['type=pull&resource_id=a&bind=perhaps', ['bind']],
      ['type=pull&resource_id=a&bind=true', ['node_id']],
      ['type=pull&resource_id=a&node_id=', ['node_id']],
    ];
    for (const [query, fields] of wrong) {
      const { status, headers, body } = await server.get(`/lock/subscribe?${query}`);
      expect(status).toBe(400);
      expect(headers['content-type']).toContain('application/json');
      expect(Object.keys(body.fields).toSorted()).toEqual(fields);
    }
  });

  it('says its headers to HEAD, and is over: the next request on the connection is answered', async () => {
    const server = await TestServer.start();
    const connection = await RawConnection.open(server.port);
    connection.send('HEAD /events HTTP/1.1\r\nhost: x\r\n\r\n');
    const head = await connection.until(/\r\n\r\n$/);
    expect(head).toMatch(/^HTTP\/1.1 200 OK[^]*text\/event-stream/);
    connection.send('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    await connection.until(/\}$/);
    expect(await server.metric('holdfast_open_streams')).toBe(0);
    connection.socket.destroy();
  });

  it('has no chunks for a client that does not know them', async () => {
    const server = await TestServer.start();
    const connection = await RawConnection.open(server.port);
    connection.send('GET /lock/subscribe?type=pull&resource_id=layer HTTP/1.0\r\n\r\n');
    await connection.until('\r\n\r\n');
    await server.lock();
    await server.unlock();
    const text = await connection.until(/data: [^]*\n\n$/);
    const [head, ...body] = text.split('\r\n\r\n');
    expect(head).not.toContain('chunked');
    expect(body.join()).toMatch(/^id: \S+\nevent: completed\ndata: .*\n\n$/);
    connection.socket.destroy();
  });

  it('behind another answer on its connection begins after that, with all it was told meanwhile', async () => {
    const server = await TestServer.start();
    await server.lock({ type: 'update' });
    const connection = await RawConnection.open(server.port);
    const poll = JSON.stringify({ type: 'update', resource_id: 'layer', node_id: 'n2', wait_ms: 60_000 });
    connection.send(
      `POST /lock HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${poll.length}\r\n\r\n${poll}` +
        'GET /lock/subscribe?type=pull&resource_id=layer HTTP/1.1\r\nhost: x\r\n\r\n',
    );
    await server.untilGauge('holdfast_open_streams', 1);
    await server.lock();
    await server.unlock();
    expect(connection.text).toBe('');
    await server.unlock({ type: 'update' });
    await connection.until(/\n\n\r\n$/);
    await server.lock({ absent: true });
    await server.unlock({ node_id: 'n1' });
    const text = await connection.until(/(event: completed[^]*){2}/);
    expect(text).toMatch(/^HTTP\/1.1 200 OK[^]*"skip":true[^]*text\/event-stream[^]*event: completed/);
    connection.socket.destroy();
  });

  it('of a reader that is too slow is cut off, and the others go on', async () => {
    const server = await TestServer.start();
    const good = await server.subscribe();
    const slow = await server.connect();
    slow.pause();
    slow.write('GET /lock/subscribe?type=pull&resource_id=layer HTTP/1.1\r\nhost: x\r\n\r\n');
    await server.untilGauge('holdfast_open_streams', 2);
    const bus = server.app.get(EventBus, { strict: false });
    for (let n = 1; n <= 40; n++) {
      bus.publish([{ resourceId: 'layer', events: [failed(n, 'x'.repeat(512 * 1024))] }]);
      expect((await good.nextEvent()).id).toBe(`1.${n}`);
    }
    await server.untilGauge('holdfast_open_streams', 1);
    bus.publish([{ resourceId: 'layer', events: [failed(41, 'still here')] }]);
    expect((await good.nextEvent()).json).toMatchObject({ error: 'still here' });
    slow.destroy();
  });

  it('leaves nothing behind when it closes, also when it was never read', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    await server.get('/health/live');
    const timers = server.clock.pendingTimers;
    for (const query of ['', '&node_id=n1', '&node_id=n1&bind=true']) {
      const socket = await server.connect();
      socket.write(`GET /lock/subscribe?type=pull&resource_id=layer${query} HTTP/1.1\r\nhost: x\r\n\r\n`);
      socket.destroy();
    }
    const readers = [await server.subscribe(), await server.subscribe({ node_id: 'n1' })];
    for (const reader of readers) reader.close();
    await server.untilGauge('holdfast_open_streams', 0);
    await server.clock.advance(10_000);
    await until(() => server.clock.pendingTimers <= timers);
  });
});

function failed(n: number, error: string): LockEvent {
  return {
    name: 'failed',
    moment: { revision: 1, n },
    type: 'pull',
    nodeId: 'n1',
    sessionId: undefined,
    success: false,
    error,
    token: undefined,
    atMs: 0,
    sinceMs: undefined,
    dismissed: 0,
    referenceCount: 0,
    observersOnly: false,
  };
}
