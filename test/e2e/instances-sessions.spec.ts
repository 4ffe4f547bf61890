import { describe, expect, it } from 'vitest';
import { SESSION_ENDED } from '../../src/core/events.js';
import { Connection, type Instances, startInstances } from '../support/instances.js';
import { TestServer } from '../support/server-bootstrap.js';
import { type HeldCall, newGate } from '../support/server-gate.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock, settled } from '../support/simulated-clock.js';

const TTL_MS = 10_000;
/** So long after its last heartbeat an instance is buried. */
const NOTICED_MS = 10_000;
/** Deadlines over a shared store are up to this late. */
const JITTER_MS = 250;

async function two() {
  const instances = await startInstances(2);
  const [a, b] = instances.servers as [TestServer, TestServer];
  return { ...instances, a, b };
}

/** A session of `n1`, made at the first server, that holds the key; `n2` waits for it. */
async function held() {
  const instances = await two();
  const session_id = await instances.a.session('n1', TTL_MS);
  await instances.a.lock({ session_id });
  await instances.b.lock({ node_id: 'n2' });
  return { ...instances, session_id };
}

async function holder(server: TestServer): Promise<string | undefined> {
  return (await server.status()).body.holder?.node_id;
}

async function renew(server: TestServer, session_id: string): Promise<number> {
  return (await server.post(`/sessions/${session_id}/renew`, {})).status;
}

async function renewFor(ms: number, { clock }: Pick<Instances, 'clock'>, server: TestServer, id: string) {
  for (let passed = 0; passed < ms; passed += 2500) {
    await clock.advance(2500);
    expect(await renew(server, id)).toBe(200);
  }
}

async function keys({ store }: Pick<Instances, 'store'>, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const page of (await store.list(0, prefix)).pages) found.push(...page.map(({ key }) => key));
  return found;
}

/** Keeps the next commit back that writes such a key: of a resource (`r/`), a session (`s/`) or an instance (`i/`). */
function holdCommit(connection: Connection, prefix: 'r/' | 's/' | 'i/'): HeldCall {
  const gate = newGate();
  const commit = connection.commit.bind(connection);
  connection.commit = async (partition, writes) => {
    if (!writes.some(({ key }) => key.startsWith(prefix))) return commit(partition, writes);
    connection.commit = commit;
    await gate.pass();
    return commit(partition, writes);
  };
  return gate;
}

describe('A session over several servers', () => {
  it('is known at all of them at once, also where the watch lags', async () => {
    const { a, b, connections } = await two();
    connections[1]!.interrupt();
    const session_id = await a.session('n1');
    expect((await b.lock({ session_id })).body.acquired).toBe(true);
    expect((await b.lock({ session_id, node_id: 'n2' })).body.code).toBe('SESSION_NOT_FOUND');
    expect(await renew(b, session_id)).toBe(200);
    expect(await renew(b, 'none')).toBe(403);
    connections[1]!.resume();
    expect((await b.unlock({ session_id })).body.released).toBe(true);
  });

  it('costs no writes but heartbeats while it is renewed where it is', async () => {
    const instances = await two();
    const { a, b, store, clock } = instances;
    const sessions = await Promise.all(Array.from({ length: 20 }, () => a.session('n1', TTL_MS)));
    const { cursor } = await store.list(0);
    for (let times = 0; times < 12; times++) {
      await clock.advance(5000);
      for (const id of sessions) expect(await renew(a, id)).toBe(200);
    }
    const writes = (await store.list(0)).cursor - cursor;
    expect(writes).toBeGreaterThan(0);
    expect(writes, 'a minute of two instances').toBeLessThanOrEqual(40);
    expect(await b.metric('holdfast_sessions')).toBe(20);
  });

  it('is not refused where its time seems to be up, before that is certain', async () => {
    const { a, b, clock, connections } = await two();
    const session_id = await a.session('n1', TTL_MS);
    connections[0]!.faults = { heldBack: 1 };
    await clock.advance(TTL_MS / 2);
    expect(await renew(b, session_id)).toBe(200);
    await clock.advance(TTL_MS / 2 - 500);
    const ending = holdCommit(connections[0]!, 's/');
    await clock.advance(500 + JITTER_MS);
    await ending.reached;
    expect((await a.lock({ session_id })).body).toMatchObject({ acquired: true });
    ending.open();
    await settled();
    expect(await holder(b)).toBe('n1');
  });

  it('that is renewed while it is being ended for its time outlives that, or is refused', async () => {
    const { a, clock, connections } = await two();
    const session_id = await a.session('n1', TTL_MS);
    await clock.advance(TTL_MS - 500);
    const ending = holdCommit(connections[0]!, 's/');
    await clock.advance(500 + JITTER_MS);
    await ending.reached;
    expect(await renew(a, session_id)).toBe(200);
    ending.open();
    await settled();
    expect((await a.lock({ session_id })).body).toMatchObject({ acquired: true });
    expect(await renew(a, session_id)).toBe(200);
  });

  it('is said to have ended only when what it was granted elsewhere an instant before has ended, too', async () => {
    const { a, b, connections, clock } = await two();
    const session_id = await b.session('n1');
    connections[1]!.interrupt();
    await a.lock({ session_id });
    const refused = b.call('DELETE', `/sessions/${session_id}`);
    let isRefused = false;
    void refused.then(() => (isRefused = true));
    while (!isRefused) await clock.advance(100);
    expect((await refused).body).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const ended = b.call('DELETE', `/sessions/${session_id}`);
    await settled();
    connections[1]!.resume();
    expect((await ended).status).toBe(200);
    expect((await a.lock({ node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('is ended whole by a server that was starting while it was granted something', async () => {
    const { servers, clock, store } = await startInstances(1);
    const [a] = servers as [TestServer];
    const connection = new Connection(store, () => 0, {}, true);
    const heartbeat = holdCommit(connection, 'i/');
    const starting = TestServer.with().over(connection).onSimulatedTime(clock).start();
    await heartbeat.reached;
    const session_id = await a.session('n1');
    await a.lock({ session_id });
    heartbeat.open();
    const b = await starting;
    expect((await b.call('DELETE', `/sessions/${session_id}`)).status).toBe(200);
    expect((await a.lock({ node_id: 'n2' })).body.acquired).toBe(true);
  });

  it('that is not renewed is ended once, by the one it is attached to', async () => {
    const { a, b, clock, session_id } = await held();
    const events = await b.stream('/events');
    await events.nextEvent();
    await clock.advance(TTL_MS - 100);
    expect(await holder(b)).toBe('n1');
    await clock.advance(100 + JITTER_MS);
    expect(await holder(b)).toBe('n2');
    expect([(await events.nextEvent()).event, (await events.nextEvent()).event]).toEqual([
      'expired',
      'assigned',
    ]);
    for (const server of [a, b]) expect(await renew(server, session_id)).toBe(403);
  });

  it('moves to where it is renewed, and then does not depend on where it was', async () => {
    const instances = await held();
    const { b, connections, session_id } = instances;
    expect(await renew(b, session_id)).toBe(200);
    connections[0]!.die();
    await renewFor(60_000, instances, b, session_id);
    expect(await holder(b)).toBe('n1');
  });

  it('moves to where its stream is opened', async () => {
    const { b, clock, connections, session_id } = await held();
    const stream = await b.stream(`/sessions/${session_id}/events`);
    expect((await stream.nextEvent()).json).toMatchObject({ session_id, holds: [{ resource_id: 'layer' }] });
    connections[0]!.die();
    await clock.advance(TTL_MS - 100);
    expect(await holder(b)).toBe('n1');
    await clock.advance(100 + JITTER_MS);
    expect(await holder(b), 'it is counted there from then on').toBe('n2');
  });

  it('whose server is dead has its full time from when that is noticed', async () => {
    const { b, clock, connections, session_id } = await held();
    await clock.advance(2000);
    connections[0]!.die();
    await clock.advance(NOTICED_MS + TTL_MS - 2000);
    expect(await holder(b)).toBe('n1');
    await clock.advance(2000 + 2 * JITTER_MS);
    expect(await holder(b)).toBe('n2');
    expect(await renew(b, session_id)).toBe(403);
  });

  it('whose server was shut down has its full time from then', async () => {
    const { a, b, clock } = await held();
    await clock.advance(8000);
    await a.close();
    await clock.advance(TTL_MS - 100);
    expect(await holder(b)).toBe('n1');
    await clock.advance(100 + JITTER_MS);
    expect(await holder(b)).toBe('n2');
  });

  it('is rescued by a renewal at another server after its own has died', async () => {
    const instances = await held();
    const { b, clock, connections, session_id } = instances;
    connections[0]!.die();
    await clock.advance(NOTICED_MS + TTL_MS - 3000);
    expect(await renew(b, session_id)).toBe(200);
    await renewFor(30_000, instances, b, session_id);
    expect(await holder(b)).toBe('n1');
  });

  it('is not ended by a server that does not see the heartbeats of its own', async () => {
    const instances = await held();
    const { a, b, connections, session_id } = instances;
    const alive = await keys(instances, 'i/');
    connections[1]!.faults = { heldBack: 1 };
    await renewFor(60_000, instances, a, session_id);
    connections[1]!.faults = {};
    connections[1]!.deliver();
    expect(await holder(b)).toBe('n1');
    expect(await keys(instances, 'i/'), 'nor is that one buried').toEqual(alive);
  });

  it('is not renewed by a server that others may take for dead, and lives on when that is over', async () => {
    const instances = await held();
    const { a, b, clock, connections, session_id } = instances;
    connections[0]!.faults = { rejected: 1 };
    await clock.advance(5000);
    expect(await renew(a, session_id)).toBe(200);
    await clock.advance(5000);
    expect(await renew(a, session_id), 'from here on nobody knows').toBe(503);
    await clock.advance(4000);
    expect(await keys(instances, 'i/'), 'it is buried').toHaveLength(1);
    connections[0]!.faults = {};
    expect(await renew(a, session_id)).toBe(200);
    expect(await keys(instances, 'i/'), 'and born again').toHaveLength(2);
    await renewFor(60_000, instances, a, session_id);
    expect(await holder(b)).toBe('n1');
  });

  it('that was ended while its server was cut off is not renewed there, however far the watch lags', async () => {
    const { a, b, clock, connections } = await two();
    const session_id = await a.session('n1', 60_000);
    connections[0]!.faults = { rejected: 1, unreadable: 1, heldBack: 1 };
    await clock.advance(NOTICED_MS + 5000);
    await b.call('DELETE', `/sessions/${session_id}`);
    connections[0]!.faults = { heldBack: 1 };
    expect(await renew(a, session_id)).toBe(403);
  });

  it('that has moved or ended is looked for in the store where the changes are not seen', async () => {
    const { a, b, clock, connections, session_id } = await held();
    connections[0]!.interrupt();
    expect(await renew(b, session_id)).toBe(200);
    expect(await renew(a, session_id), 'it moves back').toBe(200);
    await clock.advance(1000);
    await b.call('DELETE', `/sessions/${session_id}`);
    expect(await renew(a, session_id)).toBe(403);
  });

  it('that has moved is not renewed from memory by a server whose watch lags, unknown to it', async () => {
    const { a, b, clock, connections, session_id } = await held();
    connections[0]!.faults = { heldBack: 1 };
    expect(await renew(b, session_id)).toBe(200);
    await clock.advance(TTL_MS / 2);
    expect(await renew(a, session_id), 'it moves back').toBe(200);
    await clock.advance(TTL_MS - 100);
    expect(await holder(b)).toBe('n1');
    expect(await renew(a, session_id)).toBe(200);
  });

  it('that has moved is not ended by a server that has not seen it', async () => {
    const instances = await startInstances(3);
    const [a, b, c] = instances.servers as [TestServer, TestServer, TestServer];
    const session_id = await a.session('n1', TTL_MS);
    await a.lock({ session_id });
    await a.close();
    instances.connections[1]!.faults = { heldBack: 1 };
    await renewFor(30_000, instances, c, session_id);
    expect(await holder(b)).toBe('n1');
  });

  it('that is ended while a request of it is under way elsewhere keeps nothing', async () => {
    const { a, b, clock, connections, session_id } = await held();
    const gate = holdCommit(connections[0]!, 'r/');
    const request = a.lock({ session_id, resource_id: 'other' });
    await gate.reached;
    await b.call('DELETE', `/sessions/${session_id}`);
    gate.open();
    expect((await request).body.acquired).toBe(true);
    await clock.advance(TTL_MS + JITTER_MS);
    expect((await b.status({ resource_id: 'other' })).body.held).toBe(false);
  });

  it('that is ended where the watch lags keeps nothing it was granted meanwhile', async () => {
    const { a, b, clock, connections, session_id } = await held();
    connections[1]!.faults = { heldBack: 1 };
    await a.lock({ session_id, resource_id: 'other' });
    const ended = b.call('DELETE', `/sessions/${session_id}`);
    await settled();
    connections[0]!.die();
    connections[1]!.faults = {};
    connections[1]!.deliver();
    await ended;
    await clock.advance(TTL_MS + JITTER_MS);
    expect((await b.status({ resource_id: 'other' })).body.held).toBe(false);
  });

  it('that is ended at one server is ended at all: holds, streams and renewals', async () => {
    const { a, b, session_id } = await held();
    const stream = await a.stream(`/sessions/${session_id}/events`);
    await stream.nextEvent();
    expect((await b.call('DELETE', `/sessions/${session_id}`)).body.ended).toBe(true);
    await stream.untilClosed();
    expect(stream.ended).toBe(false);
    expect(await holder(a)).toBe('n2');
    expect(await renew(a, session_id)).toBe(403);
    expect((await a.lock({ session_id })).body.code).toBe('SESSION_NOT_FOUND');
  });

  it('hears at one server what happens at another', async () => {
    const { a, b } = await held();
    const session_id = await b.session('n3');
    const stream = await b.stream(`/sessions/${session_id}/events`);
    await stream.nextEvent();
    await a.lock({ node_id: 'n3', session_id });
    expect(await stream.nextEvent()).toMatchObject({ event: 'queued', json: { node_id: 'n3' } });
    await a.post('/locks/release', { type: 'pull', resource_id: 'layer', reason: 'x' });
    expect(await stream.nextEvent()).toMatchObject({ event: 'assigned', json: { node_id: 'n2' } });
  });

  it('that was only half ended is ended by whoever sees it so for its time', async () => {
    const instances = await held();
    const { b, clock, connections, store, session_id } = instances;
    connections[0]!.die();
    await clock.advance(NOTICED_MS / 2);
    const [item] = await store.get(0, [`s/${session_id}`]);
    const put = JSON.stringify({ ...JSON.parse(item!.value), e: 1 });
    await store.commit(0, [{ key: item!.key, expect: item!.revision, put }]);
    expect(await renew(b, session_id)).toBe(403);
    await clock.advance(TTL_MS - 100);
    expect(await holder(b)).toBe('n1');
    await clock.advance(100 + JITTER_MS);
    expect(await holder(b)).toBe('n2');
    expect(await keys(instances, 's/')).toEqual([]);
  });

  it('that was ended in due form is so also when another server has to finish it', async () => {
    const { a, b, clock, connections, session_id } = await held();
    const events = await b.stream('/events');
    await events.nextEvent();
    const [connection] = connections as [Connection];
    const marked = newGate();
    const commit = connection.commit.bind(connection);
    connection.commit = async (partition, writes) => {
      const outcome = await commit(partition, writes);
      if (!writes[0]!.key.startsWith('s/')) return outcome;
      connection.die();
      void marked.pass();
      return outcome;
    };
    a.call('DELETE', `/sessions/${session_id}`).catch(() => undefined);
    await marked.reached;
    await clock.advance(TTL_MS + JITTER_MS);
    expect(await holder(b)).toBe('n2');
    expect(await events.nextEvent()).toMatchObject({ event: 'expired', json: { error: SESSION_ENDED } });
  });

  it('that was renewed while a try to end it was under way is not ended by the next try', async () => {
    const { b, clock, connections, session_id } = await held();
    const [connection] = connections as [Connection];
    const gate = newGate();
    const commit = connection.commit.bind(connection);
    connection.commit = async (partition, writes) => {
      if (!writes[0]!.key.startsWith('s/')) return commit(partition, writes);
      connection.commit = commit;
      await gate.pass();
      return { status: 'unknown', cause: new Error('no answer') };
    };
    await clock.advance(TTL_MS + JITTER_MS);
    await gate.reached;
    expect(await renew(b, session_id)).toBe(200);
    gate.open();
    await clock.advance(TTL_MS / 2);
    expect(await renew(b, session_id)).toBe(200);
    expect(await holder(b)).toBe('n1');
  });

  it('that has no record gives up what it holds after its time', async () => {
    const { b, clock, store, session_id } = await held();
    const [item] = await store.get(0, [`s/${session_id}`]);
    await store.commit(0, [{ key: item!.key, expect: item!.revision, delete: true }]);
    await clock.advance(TTL_MS - 100);
    expect(await holder(b)).toBe('n1');
    await clock.advance(100 + JITTER_MS);
    expect(await holder(b)).toBe('n2');
  });
});

describe('A server alone on its store', () => {
  it('writes no heartbeats', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    const session_id = await server.session('n1', 60_000);
    await clock.advance(30_000);
    expect(await renew(server, session_id)).toBe(200);
    expect(store.commits).toHaveLength(1);
    expect(await store.keys()).toEqual([`s/${session_id}`]);
  });
});
