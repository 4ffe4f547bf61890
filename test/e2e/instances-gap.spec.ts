import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/stores/store.error.js';
import { startInstances } from '../support/instances.js';
import { until } from '../support/server-bootstrap.js';

const AWAY = new StoreError('STORE_UNAVAILABLE', 'watch', 'connect ECONNREFUSED');
const WARN = 40;

const KEY = { type: 'pull', resource_id: 'layer' };

/** `n1` holds the key at the first server; whatever `n2` does, it does at the second. */
async function held() {
  const { servers, connections, clock } = await startInstances(2);
  const [here, there] = [servers[0]!, servers[1]!];
  await here.lock({ lease_ms: 0 });
  return { here, there, clock, connection: connections[1]! };
}

describe('A server that does not see the changes of the store', () => {
  it('is not ready, and says why', async () => {
    const { there, connection } = await held();
    connection.interrupt(AWAY);
    const { status, body } = await there.get('/health/ready');
    expect([status, body.code]).toEqual([503, 'NOT_READY']);
    expect(body.details.store.message).toBe(
      'the changes of the store are not seen at the moment: connect ECONNREFUSED',
    );
    expect(body.message).toContain(body.details.store.message);
    connection.resume();
    expect((await there.get('/health/ready')).status).toBe(200);
  });

  it('shows that it is not ready in its metrics', async () => {
    const { there, connection } = await held();
    expect(await there.metric('holdfast_ready')).toBe(1);
    connection.interrupt(AWAY);
    expect(await there.metric('holdfast_ready')).toBe(0);
    connection.resume();
    expect(await there.metric('holdfast_ready')).toBe(1);
  });

  it('says so in its log once for each kind of reason, and when it sees them again', async () => {
    const { there, clock, connection } = await held();
    connection.interrupt(AWAY);
    connection.interrupt(AWAY);
    await clock.advance(2500);
    connection.interrupt(new StoreError('STORE_UNREADABLE', 'watch', 'not the state this process opened'));
    connection.resume();
    connection.interrupt(AWAY);
    connection.resume();
    const lines = there.log.filter(({ context }) => context === 'Store');
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [WARN, 'the changes of the store are not seen any more: connect ECONNREFUSED'],
      [WARN, 'the changes of the store are not seen any more: not the state this process opened'],
      [WARN, 'the changes of the store are seen again after 2.5 s'],
      [WARN, 'the changes of the store are not seen any more: connect ECONNREFUSED'],
      [WARN, 'the changes of the store are seen again after 0.0 s'],
    ]);
  });

  it('does not show what was held some time ago as if it were held now', async () => {
    const { there, connection } = await held();
    const open = await there.stream('/events');
    connection.interrupt(AWAY);
    for (const path of ['/locks', '/events']) {
      const { status, headers, body } = await there.get(path);
      expect([status, body.code, headers['retry-after']]).toEqual([503, 'STORE_UNAVAILABLE', '1']);
    }
    expect(open.closed).toBe(false);
    connection.resume();
    expect((await there.get('/locks')).body.locks).toHaveLength(1);
  });

  it('does not release the references of a node as if it knew of all of them', async () => {
    const { here, there, connection } = await held();
    connection.interrupt(AWAY);
    connection.faults = { heldBack: 1 };
    await here.post('/refcounts/add', { resource_id: 'other layer', node_id: 'n2' });
    const { status, body } = await there.post('/refcounts/release-node', { node_id: 'n2' });
    expect([status, body.code]).toEqual([503, 'STORE_UNAVAILABLE']);
    connection.faults = {};
    connection.compact();
    connection.resume();
    await until(async () => (await there.get('/health/ready')).status === 200);
    expect((await there.post('/refcounts/release-node', { node_id: 'n2' })).body.released).toBe(1);
  });

  it('keeps its streams, and tells them when it sees again', async () => {
    const { here, there, connection } = await held();
    await there.lock({ node_id: 'n2' });
    const stream = await there.subscribe({ node_id: 'n2' });
    connection.interrupt();
    await here.unlock({ error: 'x' });
    connection.resume();
    expect(await stream.nextEvent()).toMatchObject({ event: 'assigned', json: { node_id: 'n2' } });
  });
});

describe('A server whose watch of the store was compacted', () => {
  it('answers the long polls that were served meanwhile', async () => {
    const { here, there, connection } = await held();
    const { answer } = await there.longPoll({ node_id: 'n2' });
    await connection.missing(() => here.unlock({ error: 'x' }));
    expect((await answer).body).toMatchObject({ acquired: true });
  });

  it('cuts the streams of a key that changed: who comes back is told the truth', async () => {
    const { here, there, connection } = await held();
    await here.lock({ resource_id: 'other' });
    await there.lock({ node_id: 'n2' });
    const stream = await there.subscribe({ node_id: 'n2' });
    const other = await there.subscribe({ node_id: 'n2', resource_id: 'other' });
    await connection.missing(() => here.unlock({ error: 'x' }));
    await stream.untilClosed();
    expect(stream.ended).toBe(false);
    expect(other.closed).toBe(false);
    const again = await there.subscribe({ node_id: 'n2' });
    expect(await again.nextEvent()).toMatchObject({ event: 'assigned', json: { node_id: 'n2' } });
  });

  it('cuts the streams of everything', async () => {
    const { here, there, connection } = await held();
    const stream = await there.stream('/events');
    await connection.missing(() => here.unlock());
    await stream.untilClosed();
    const again = await there.stream('/events');
    expect((await again.nextEvent()).json).toEqual({ locks: [], more: false, heartbeat_ms: 15_000 });
  });

  it('forgets what a session no longer waits for', async () => {
    const { here, there, connection } = await held();
    const session_id = await there.session('n2');
    const asker = { node_id: 'n2', session_id };
    await there.lock(asker);
    await connection.missing(() => here.post('/lock/cancel', { ...KEY, ...asker }));
    const stream = await there.stream(`/sessions/${session_id}/events`);
    await stream.nextEvent();
    await here.unlock();
    await here.lock({ ...asker, resource_id: 'other' });
    expect((await stream.nextEvent()).json).toMatchObject({ resource_id: 'other' });
  });

  it('cuts a session’s stream, and knows again what the session holds and waits for', async () => {
    const { here, there, connection } = await held();
    const session_id = await there.session('n2');
    await there.lock({ node_id: 'n2', session_id });
    await there.lock({ node_id: 'n2', session_id, resource_id: 'lost' });
    const stream = await there.stream(`/sessions/${session_id}/events`);
    await stream.nextEvent();
    await connection.missing(async () => {
      await here.unlock({ error: 'x' });
      await here.post('/locks/release', { ...KEY, resource_id: 'lost', reason: 'x' });
    });
    await stream.untilClosed();
    const again = await there.stream(`/sessions/${session_id}/events`);
    const { json } = await again.nextEvent();
    expect(json).toMatchObject({ session_id, holds: [{ ...KEY, token: expect.any(Number) }], waits: [] });
    await there.call('DELETE', `/sessions/${session_id}`);
    expect((await here.status()).body.held).toBe(false);
  });
});
