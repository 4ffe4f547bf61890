import { Agent } from 'node:http';
import { describe, expect, it } from 'vitest';
import { LockManager } from '../../src/locking/lock-manager.js';
import { MemoryRefCountStorage } from '../../src/refcount/memory-ref-count-storage.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { type Pending, TestServer, until } from '../support/server-bootstrap.js';
import { type Settings } from '../../src/config/settings.js';
import { type Gate, type HeldCall, holdNextCommit, holdNextGet, newGate } from '../support/server-gate.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { WrappedStore } from '../support/wrapped-store.js';
import { RawConnection } from '../express/servers.js';

/** `n1` holds, and the given nodes wait in long polls, in this order. */
async function heldAndAwaited(server: TestServer, ...nodes: string[]) {
  const { body: held } = await server.lock();
  const polls = [];
  for (const node_id of nodes) polls.push(await server.longPoll({ node_id }, polls.length + 1));
  return { token: held.token as number, polls };
}

/** A server whose store can be made to wait. */
async function withStore(settings: Partial<Settings> = {}) {
  const clock = new SimulatedClock();
  const store = new WrappedStore(new MemoryStateStore(clock));
  const server = await TestServer.with(settings).over(store).onSimulatedTime(clock).start();
  return { clock, store, server };
}

/** A server whose storage of reference counts can be made to wait; it is read before a waiter is told, too. */
async function withStorage(settings: Partial<Settings> = {}) {
  const storage = new SlowStorage();
  return { storage, server: await TestServer.with(settings).counting(storage).start() };
}

class SlowStorage extends MemoryRefCountStorage {
  private held: { callsBefore: number; readonly gate: Gate } | undefined;

  /** Keeps the `n`-th reading from now on waiting. */
  holdCall(n: number): HeldCall {
    const gate = newGate();
    this.held = { callsBefore: n - 1, gate };
    return gate;
  }

  override async getRefCount(resourceId: string) {
    const { held } = this;
    if (held && held.callsBefore-- === 0) {
      this.held = undefined;
      await held.gate.pass();
    }
    return super.getRefCount(resourceId);
  }
}

/** As the list shows it, which reads no references. */
async function seenHolder(server: TestServer): Promise<string | undefined> {
  return (await server.get('/locks')).body.locks[0].holder?.node_id;
}

/** Breaks the connection of a request, and waits until the server has seen it. */
async function drop(server: TestServer, poll: Pending): Promise<void> {
  const before = await connections(server);
  poll.abort();
  await until(async () => (await connections(server)) < before);
}

async function holder(server: TestServer): Promise<string | undefined> {
  return (await server.status()).body.holder?.node_id;
}

describe('A long poll', () => {
  it('is answered at once when the lock is free', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.lock({ wait_ms: 60_000 });
    expect(status).toBe(200);
    expect(body).toEqual({
      acquired: true,
      skip: false,
      message: 'lock acquired',
      isolation: 'operation',
      token: expect.any(Number),
      lease_ms: 3_600_000,
      reference_count: 0,
    });
  });

  it('is answered when the lock is handed over', async () => {
    const server = await TestServer.start();
    const { token, polls } = await heldAndAwaited(server, 'n2');
    const { body: released } = await server.unlock({ error: 'disk full' });
    expect(released).toEqual({ released: true, message: expect.any(String), next_holder: 'n2' });
    const { status, body } = await polls[0]!.answer;
    expect({ status, ...body }).toMatchObject({
      status: 200,
      acquired: true,
      skip: false,
      lease_ms: 3_600_000,
    });
    expect(body.token).toBeGreaterThan(token);
    expect(body).not.toHaveProperty('position');
  });

  it('claims what it was handed by the answer it delivered', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const { polls } = await heldAndAwaited(server, 'n2');
    await server.unlock({ error: 'x' });
    await polls[0]!.answer;
    await until(async () => (await server.get('/locks')).body.locks[0].holder.claimed);
    await server.clock.advance(60_000);
    expect(await holder(server)).toBe('n2');
  });

  it('is answered skip when the work is done, and counts the node of a pull', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2', 'n3');
    await server.unlock({ success: true });
    const { status, body } = await polls[1]!.answer;
    expect(status).toBe(200);
    expect(body).toEqual({
      acquired: false,
      skip: true,
      message: expect.stringContaining('n1'),
      isolation: 'operation',
      reference_count: 3,
    });
    expect((await polls[0]!.answer).body.skip).toBe(true);
  });

  it('is refused with the error of a fatal failure', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2');
    await server.unlock({ error: 'sha256:9c0d is unknown', fatal: true });
    const { status, body } = await polls[0]!.answer;
    expect(status).toBe(403);
    expect(body).toEqual({
      acquired: false,
      skip: false,
      error: 'sha256:9c0d is unknown',
      code: 'OPERATION_FAILED',
      message: expect.stringMatching(/^The work failed: sha256:9c0d is unknown\. /),
    });
  });

  it('is answered queued when its time is over, and keeps its place', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const { polls } = await heldAndAwaited(server, 'n2', 'n3');
    await server.clock.advance(60_000);
    expect((await polls[0]!.answer).body).toMatchObject({ acquired: false, skip: false, position: 1 });
    const { body } = await polls[1]!.answer;
    expect(body).toEqual({
      acquired: false,
      skip: false,
      message: 'queued at position 2',
      isolation: 'operation',
      position: 2,
      ticket: expect.any(String),
      reference_count: 0,
    });
    expect((await server.status()).body.queue_length).toBe(2);
    expect((await server.lock({ node_id: 'n3' })).body.ticket).toBe(body.ticket);
  });

  it('has left the queue when it is answered after its time, if it asked to', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const { polls } = await heldAndAwaited(server);
    polls.push(await server.longPoll({ node_id: 'n2', on_timeout: 'leave' }));
    await server.clock.advance(60_000);
    const { status, body } = await polls[0]!.answer;
    expect(status).toBe(200);
    expect(body).toEqual({
      acquired: false,
      skip: false,
      message: expect.any(String),
      isolation: 'operation',
      reference_count: 0,
    });
    expect((await server.status()).body.queue_length).toBe(0);
  });

  it('of no time at all asks once and waits for nothing, if it is to leave then', async () => {
    const server = await TestServer.start();
    expect((await server.lock({ wait_ms: 0, on_timeout: 'leave' })).body.acquired).toBe(true);
    const { body } = await server.lock({ node_id: 'n2', wait_ms: 0, on_timeout: 'leave' });
    expect(body).toMatchObject({ acquired: false, skip: false });
    expect(body.position).toBeUndefined();
    expect((await server.status()).body.queue_length).toBe(0);
    const stays = await server.lock({ node_id: 'n2', wait_ms: 0 });
    expect(stays.body.position).toBe(1);
  });

  it('of on_timeout "leave" is answered only after the store has let it leave', async () => {
    const { clock, store, server } = await withStore();
    await server.lock();
    const { answer: poll } = await server.longPoll({ node_id: 'n2', on_timeout: 'leave' });
    const answered = poll.then(() => 'answered');
    const leaving = holdNextCommit(store);
    await clock.advance(60_000);
    await leaving.reached;
    const early = new Promise((resolve) => setTimeout(resolve, 50, 'not yet'));
    expect(await Promise.race([answered, early])).toBe('not yet');
    leaving.open();
    expect((await poll).body.acquired).toBe(false);
  });

  it('is answered queued at once when its asker asks again, and its closing changes nothing', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2');
    const second = server.lock({ node_id: 'n2', wait_ms: 60_000 });
    const { body } = await polls[0]!.answer;
    expect(body).toMatchObject({ acquired: false, skip: false, position: 1, ticket: expect.any(String) });
    await server.untilGauge('holdfast_long_polls', 1);
    expect((await server.status()).body.queue_length).toBe(1);
    await server.unlock({ error: 'x' });
    expect((await second).body.acquired).toBe(true);
  });

  it('takes the wait over from its arrival on: an older connection may drop before it is applied', async () => {
    const { store, server } = await withStore();
    await server.lock();
    const { answer: older } = await server.longPoll({ node_id: 'n2' });
    const asking = holdNextGet(store);
    const second = server.lock({ node_id: 'n2', wait_ms: 60_000 });
    await asking.reached;
    await drop(server, older).catch(() => undefined);
    asking.open();
    await server.untilGauge('holdfast_long_polls', 1);
    await server.unlock({ error: 'x' });
    expect((await second).body).toMatchObject({ acquired: true });
  });

  it('gives its wait up to a plain request, too', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2');
    const { body: plain } = await server.lock({ node_id: 'n2' });
    const { body } = await polls[0]!.answer;
    expect(body).toMatchObject({ position: 1, ticket: plain.ticket });
    expect((await server.status({ node_id: 'n2' })).body.position).toBe(1);
  });

  it('leaves the queue when its connection drops', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2', 'n3');
    polls[0]!.answer.abort();
    await until(async () => (await server.status()).body.queue_length === 1);
    await server.unlock({ error: 'x' });
    expect((await polls[1]!.answer).body.acquired).toBe(true);
  });

  it('that is granted but cannot be told is a failure at once, and the next in line is served', async () => {
    const { server, storage } = await withStorage({ claimTimeoutMs: 0 });
    const { polls } = await heldAndAwaited(server, 'n2', 'n3');
    const telling = storage.holdCall(2);
    await server.unlock({ error: 'x' });
    await telling.reached;
    expect(await seenHolder(server)).toBe('n2');
    await drop(server, polls[0]!.answer);
    telling.open();
    expect((await polls[1]!.answer).body.acquired).toBe(true);
    expect(await holder(server)).toBe('n3');
  });

  it('that is granted, not told and asked for again by its node keeps the lock', async () => {
    const { server, storage } = await withStorage({ claimTimeoutMs: 0 });
    const { polls } = await heldAndAwaited(server, 'n2', 'n3');
    const telling = storage.holdCall(2);
    await server.unlock({ error: 'x' });
    await telling.reached;
    const key = { type: 'pull', resource_id: 'layer', node_id: 'n2' };
    const again = server.post('/lock', key, { agent: new Agent() });
    await until(async () => (await connections(server)) === 4);
    await drop(server, polls[0]!.answer);
    telling.open();
    expect((await again).body.acquired).toBe(true);
    expect((await server.status({ node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('whose connection is lost before its immediate grant is told gives the lock back', async () => {
    const { store, server } = await withStore();
    const granting = holdNextCommit(store);
    const poll = server.lock({ wait_ms: 1000 });
    poll.catch(() => undefined);
    await granting.reached;
    await drop(server, poll);
    granting.open();
    await until(async () => (await holder(server)) === undefined);
    expect((await server.lock({ node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('whose connection is reset as its grant is written gives the lock back', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 0 }).start();
    await server.lock();
    const connection = await RawConnection.open(server.port);
    connection.send(asking({ type: 'pull', resource_id: 'layer', node_id: 'n2', wait_ms: 60_000 }));
    await server.untilGauge('holdfast_long_polls', 1);
    const manager = server.app.get(LockManager, { strict: false });
    // In one turn of the event loop: the server writes before it can have seen that nobody reads.
    connection.socket.resetAndDestroy();
    const failure = { success: false, error: 'x', fatal: false } as const;
    await manager.execute('layer', { kind: 'release', type: 'pull', asker: { nodeId: 'n1' }, ...failure });
    await until(async () => (await holder(server)) === undefined);
    expect((await server.lock({ node_id: 'n3' })).body.acquired).toBe(true);
  });

  it('whose answer stands behind another when their connection breaks gives the lock back', async () => {
    const server = await TestServer.start();
    await server.lock();
    const key = { type: 'pull', node_id: 'n2', wait_ms: 60_000 };
    const connection = await RawConnection.open(server.port);
    connection.send(asking({ ...key, resource_id: 'layer' }) + asking({ ...key, resource_id: 'other' }));
    const other = () => server.status({ resource_id: 'other' });
    await until(async () => (await other()).body.held && (await server.status()).body.queue_length === 1);
    connection.socket.destroy();
    await until(async () => !(await other()).body.held && (await server.status()).body.queue_length === 0);
  });

  it('does not give back a lock that its node held before it asked', async () => {
    const { clock, store, server } = await withStore();
    await server.lock();
    const again = holdNextCommit(store);
    const poll = server.lock({ wait_ms: 1000 });
    poll.catch(() => undefined);
    await again.reached;
    await drop(server, poll);
    again.open();
    await clock.advance(1000);
    expect(await holder(server)).toBe('n1');
  });

  it('does not give back a lock that its node has asked for again since', async () => {
    const { clock, store, server } = await withStore();
    const granting = holdNextCommit(store);
    const poll = server.lock({ wait_ms: 1000 });
    poll.catch(() => undefined);
    await granting.reached;
    const again = server.lock();
    await until(async () => (await connections(server)) === 2);
    await drop(server, poll);
    granting.open();
    expect((await again).body.acquired).toBe(true);
    await clock.advance(1000);
    expect(await holder(server)).toBe('n1');
  });

  it.each([
    ['after', 0],
    ['before', 1],
  ])(
    'does not give back a lock that its node was told of by a plain request %s it, in one commit with it',
    async (_, pollIndex) => {
      const { clock, store, server } = await withStore();
      const other = holdNextCommit(store);
      const scan = server.lock({ type: 'scan' });
      await other.reached;
      const asked: Pending[] = [];
      for (const index of [0, 1]) {
        asked.push(server.lock(index === pollIndex ? { wait_ms: 1000 } : {}));
        await until(async () => (await connections(server)) === asked.length + 1);
      }
      asked[pollIndex]!.catch(() => undefined);
      await drop(server, asked[pollIndex]!);
      other.open();
      await scan;
      expect((await asked[1 - pollIndex]!).body.acquired).toBe(true);
      await clock.advance(1000);
      expect(await holder(server)).toBe('n1');
    },
  );

  it('spends a dismissal only by telling it', async () => {
    const { clock, store, server } = await withStore();
    const update = { type: 'update', node_id: 'n1' };
    await server.lock(update);
    await server.lock({ ...update, node_id: 'n2' });
    await server.unlock({ ...update, error: 'bad digest', fatal: true });
    const asking = holdNextGet(store);
    const poll = server.lock({ ...update, node_id: 'n2', wait_ms: 1000 });
    poll.catch(() => undefined);
    await asking.reached;
    await drop(server, poll);
    asking.open();
    await clock.advance(0);
    const told = await server.lock({ ...update, node_id: 'n2', wait_ms: 1000 });
    expect(told.body).toMatchObject({ code: 'OPERATION_FAILED', error: 'bad digest' });
    await until(async () => (await server.lock({ ...update, node_id: 'n2', wait_ms: 1000 })).body.acquired);
  });

  it('does not spend a dismissal by telling something else', async () => {
    const server = await TestServer.with({ allowMultiNodeDownload: true, maxQueueLength: 1 }).start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'bad digest', fatal: true });
    await server.lock({ node_id: 'n3' });
    await server.lock({ node_id: 'n4' });
    const full = await server.lock({ node_id: 'n2', absent: true, wait_ms: 1000 });
    expect(full.body.code).toBe('QUEUE_FULL');
    expect((await server.lock({ node_id: 'n2' })).body.code).toBe('OPERATION_FAILED');
  });

  it('that is told a dismissal while it waits spends it when it is delivered', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2');
    await server.unlock({ error: '404', fatal: true });
    expect((await polls[0]!.answer).status).toBe(403);
    const grantQueueUnlockAndSpend = 4;
    await server.untilGauge('holdfast_commands_per_commit_count', grantQueueUnlockAndSpend);
    expect((await server.lock({ node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('whose connection breaks as it is dismissed leaves the dismissal to be told again', async () => {
    const { server, storage } = await withStorage();
    await server.lock({ type: 'update' });
    const { answer: poll } = await server.longPoll({ type: 'update', node_id: 'n2' });
    const telling = storage.holdCall(2);
    await server.unlock({ type: 'update' });
    await telling.reached;
    await drop(server, poll);
    telling.open();
    await until(async () => (await server.metric('holdfast_long_polls')) === 0);
    expect((await server.lock({ type: 'update', node_id: 'n2' })).body.skip).toBe(true);
    expect((await server.lock({ type: 'update', node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('that is cancelled is answered without a position', async () => {
    const server = await TestServer.start();
    const { polls } = await heldAndAwaited(server, 'n2');
    const key = { type: 'pull', resource_id: 'layer', node_id: 'n2' };
    const { body: cancelled } = await server.post('/lock/cancel', key);
    expect(cancelled).toMatchObject({ cancelled: true });
    const { status, body } = await polls[0]!.answer;
    expect(status).toBe(200);
    expect(body).toMatchObject({ acquired: false, skip: false });
    expect(body).not.toHaveProperty('position');
    expect(body).not.toHaveProperty('ticket');
  });

  it('of a session that ends is refused', async () => {
    const server = await TestServer.start();
    await server.lock();
    const session_id = await server.session('n2');
    const { answer: poll } = await server.longPoll({ node_id: 'n2', session_id });
    await server.call('DELETE', `/sessions/${session_id}`);
    const { status, body } = await poll;
    expect(status).toBe(403);
    expect(body).toMatchObject({ acquired: false, skip: false, code: 'SESSION_NOT_FOUND' });
  });

  it('counts as asking for as long as it is open', async () => {
    const server = await TestServer.with({ waiterTtlMs: 10_000, maxWaitMs: 600_000 })
      .onSimulatedTime()
      .start();
    await server.lock({ lease_ms: 0 });
    const { answer: poll } = await server.longPoll({ node_id: 'n2', wait_ms: 600_000 });
    await server.lock({ node_id: 'n3' });
    await server.clock.advance(60_000);
    expect(
      (await server.get('/locks')).body.locks[0].waiters.map((w: { node_id: string }) => w.node_id),
    ).toEqual(['n2']);
    await server.unlock({ error: 'x' });
    expect((await poll).body.acquired).toBe(true);
  });
});

function asking(request: object): string {
  const body = JSON.stringify(request);
  const head = ['POST /lock HTTP/1.1', 'host: h', 'content-type: application/json'];
  return [...head, `content-length: ${body.length}`, '', body].join('\r\n');
}

function connections(server: TestServer): Promise<number> {
  return new Promise((resolve, reject) =>
    server.app
      .getHttpServer()
      .getConnections((error: Error | null, count: number) => (error ? reject(error) : resolve(count))),
  );
}
