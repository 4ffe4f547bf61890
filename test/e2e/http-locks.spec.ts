import { describe, expect, it } from 'vitest';
import { TestServer } from '../support/server-bootstrap.js';

const RFC_3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const MESSAGE = expect.stringMatching(/\S/);
const TOKEN = expect.toSatisfy((token: unknown) => Number.isSafeInteger(token) && (token as number) > 0);
const KEY = { type: 'pull', resource_id: 'layer', node_id: 'n1' };

describe('POST /lock', () => {
  it('grants, queues and refuses with exactly the promised fields', async () => {
    const server = await TestServer.with({ maxQueueLength: 1 }).start();
    const granted = await server.lock({ lease_ms: 5000 });
    expect(granted.status).toBe(200);
    expect(granted.body).toEqual({
      acquired: true,
      skip: false,
      message: MESSAGE,
      isolation: 'operation',
      token: TOKEN,
      lease_ms: 5000,
      reference_count: 0,
    });
    const queued = await server.lock({ node_id: 'n2' });
    expect(queued.status).toBe(200);
    expect(queued.body).toEqual({
      acquired: false,
      skip: false,
      message: MESSAGE,
      isolation: 'operation',
      position: 1,
      ticket: expect.any(String),
      reference_count: 0,
    });
    const full = await server.lock({ node_id: 'n3' });
    expect(full.status).toBe(429);
    expect(full.headers['retry-after']).toMatch(/^\d+$/);
    expect(full.body).toEqual({
      acquired: false,
      skip: false,
      error: expect.any(String),
      code: 'QUEUE_FULL',
      message: MESSAGE,
    });
  });

  it('gives its holder the same hold again', async () => {
    const server = await TestServer.start();
    const first = await server.lock();
    const again = await server.lock({ lease_ms: 1234 });
    expect(again.body).toMatchObject({ acquired: true, token: first.body.token, lease_ms: 1234 });
  });

  it('skips a pull that is referenced, and counts who is skipped', async () => {
    const server = await TestServer.with({ lockIsolation: 'resource' }).start();
    await server.lock();
    await server.unlock();
    const skipped = await server.lock({ node_id: 'n2' });
    expect(skipped.status).toBe(200);
    expect(skipped.body).toEqual({
      acquired: false,
      skip: true,
      message: MESSAGE,
      isolation: 'resource',
      reference_count: 2,
    });
  });

  it('refuses a delete in use, and a held key that may not be queued for', async () => {
    const server = await TestServer.with({ allowMultiNodeDownload: false }).start();
    await server.lock();
    const held = await server.lock({ node_id: 'n2' });
    expect(held.status).toBe(403);
    expect(held.body).toMatchObject({ acquired: false, skip: false, code: 'LOCK_HELD', error: 'held by n1' });
    await server.unlock();
    const inUse = await server.lock({ type: 'delete' });
    expect(inUse.status).toBe(403);
    expect(inUse.body).toEqual({
      acquired: false,
      skip: false,
      error: 'in use by 1 node',
      code: 'RESOURCE_IN_USE',
      message: MESSAGE,
    });
  });

  it('counts nothing in client mode', async () => {
    const server = await TestServer.with({ refcountMode: 'client' }).start();
    expect((await server.lock()).body.reference_count).toBeNull();
    expect((await server.lock({ node_id: 'n2' })).body.reference_count).toBeNull();
    expect((await server.status()).body.reference_count).toBeNull();
  });

  it('tells a success newer than the ticket', async () => {
    const server = await TestServer.start();
    const update = { type: 'update' };
    await server.lock(update);
    const { ticket } = (await server.lock({ ...update, node_id: 'n2' })).body;
    await server.post('/lock/cancel', { ...KEY, ...update, node_id: 'n2' });
    await server.unlock(update);
    expect((await server.lock({ ...update, node_id: 'n2', ticket })).body.skip).toBe(true);
    expect((await server.lock({ ...update, node_id: 'n2' })).body.acquired).toBe(true);
  });
});

describe('POST /unlock', () => {
  it('releases, hands over and repeats its answer', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    const released = await server.unlock({ error: 'disk full' });
    expect(released.status).toBe(200);
    expect(released.body).toEqual({ released: true, message: MESSAGE, next_holder: 'n2' });
    expect((await server.unlock({ error: 'disk full' })).body).toEqual(released.body);
    expect((await server.unlock({ node_id: 'n2' })).body).toEqual({ released: true, message: MESSAGE });
  });

  it.each([
    ['nobody holds it', { resource_id: 'other' }, 'LOCK_NOT_FOUND'],
    ['another node holds it', { node_id: 'n2' }, 'NOT_HOLDER'],
    ['the token is not the hold’s', { token: 1 }, 'STALE_TOKEN'],
    ['the session is unknown', { session_id: 'x' }, 'SESSION_NOT_FOUND'],
  ])('is refused when %s', async (_when, request, code) => {
    const server = await TestServer.start();
    await server.lock();
    const refused = await server.unlock(request);
    expect(refused.status).toBe(403);
    expect(refused.body).toEqual({ released: false, error: expect.any(String), code, message: MESSAGE });
    expect((await server.status()).body.held).toBe(true);
  });

  it('is refused to a session that has ended, with what it had gone', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n1');
    await server.lock({ session_id });
    await server.call('DELETE', `/sessions/${session_id}`);
    for (const path of ['/unlock', '/lock/renew']) {
      const { status, body } = await server.post(path, { ...KEY, session_id });
      expect({ status, code: body.code }).toEqual({ status: 403, code: 'SESSION_NOT_FOUND' });
    }
    const batch = await server.post('/unlock/batch', { requests: [{ ...KEY, session_id }] });
    expect(batch.body.results[0]).toMatchObject({ status: 403, code: 'SESSION_NOT_FOUND' });
  });

  it('cuts a long error at 4 KB', async () => {
    const server = await TestServer.start();
    const events = await server.stream('/events');
    await server.lock();
    await server.unlock({ error: 'x'.repeat(10_000) });
    for (;;) {
      const { event, json } = await events.nextEvent();
      if (event !== 'released') continue;
      expect(json['error']).toHaveLength(4096);
      break;
    }
  });
});

describe('POST /lock/renew', () => {
  it('extends the lease and answers with it', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const { token } = (await server.lock({ lease_ms: 10_000 })).body;
    await server.clock.advance(9000);
    const renewed = await server.post('/lock/renew', { ...KEY, token, lease_ms: 20_000 });
    expect(renewed.status).toBe(200);
    expect(renewed.body).toEqual({ renewed: true, token, lease_ms: 20_000 });
    await server.clock.advance(19_000);
    expect((await server.status()).body.held).toBe(true);
    await server.clock.advance(1500);
    expect((await server.status()).body.held).toBe(false);
  });

  it('is refused as an unlock is', async () => {
    const server = await TestServer.start();
    await server.lock();
    const refused = await server.post('/lock/renew', { ...KEY, node_id: 'n2' });
    expect(refused.status).toBe(403);
    expect(refused.body).toEqual({
      renewed: false,
      error: 'held by n1',
      code: 'NOT_HOLDER',
      message: MESSAGE,
    });
  });
});

describe('POST /lock/cancel', () => {
  it('leaves the queue, and says so also when there was nothing to leave', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    const key = { ...KEY, node_id: 'n2' };
    expect((await server.post('/lock/cancel', key)).body).toEqual({ cancelled: true, message: MESSAGE });
    const again = await server.post('/lock/cancel', key);
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ cancelled: false, message: MESSAGE });
  });

  it('means only the wait whose ticket it names', async () => {
    const server = await TestServer.start();
    await server.lock();
    const { ticket } = (await server.lock({ node_id: 'n2' })).body;
    await server.post('/lock/cancel', { ...KEY, node_id: 'n2' });
    await server.lock({ node_id: 'n2' });
    const late = await server.post('/lock/cancel', { ...KEY, node_id: 'n2', ticket });
    expect(late.body.cancelled).toBe(false);
    expect((await server.status({ node_id: 'n2' })).body.position).toBe(1);
  });

  it('of an unclaimed hold is a failure', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.lock({ node_id: 'n3' });
    await server.unlock({ error: 'x' });
    await server.post('/lock/cancel', { ...KEY, node_id: 'n2' });
    expect((await server.status()).body.holder.node_id).toBe('n3');
  });
});

describe('GET and POST /lock/status', () => {
  it('tell the same, with exactly the promised fields', async () => {
    const server = await TestServer.start();
    const { token } = (await server.lock({ subtype: 'gold' })).body;
    await server.lock({ node_id: 'n2' });
    const byGet = await server.status({ node_id: 'n2' });
    expect(byGet.status).toBe(200);
    expect(byGet.body).toEqual({
      acquired: false,
      completed: false,
      success: false,
      held: true,
      holder: { node_id: 'n1', subtype: 'gold', requested_at: RFC_3339, acquired_at: RFC_3339, token },
      position: 1,
      queue_length: 1,
      reference_count: 0,
    });
    const byPost = await server.post('/lock/status', { ...KEY, node_id: 'n2' });
    expect(byPost.status).toBe(200);
    expect(byPost.body).toEqual(byGet.body);
    expect((await server.status({ node_id: 'n1' })).body.acquired).toBe(true);
  });

  it('tell how the work ended', async () => {
    const server = await TestServer.start();
    const update = { type: 'update' };
    await server.lock(update);
    await server.unlock(update);
    expect((await server.status(update)).body).toEqual({
      acquired: false,
      completed: true,
      success: true,
      completed_at: RFC_3339,
      held: false,
      queue_length: 0,
      reference_count: 0,
    });
    await server.lock(update);
    expect((await server.status(update)).body).toMatchObject({ completed: false, success: false });
    await server.unlock({ ...update, error: '404', fatal: true });
    expect((await server.status(update)).body).toMatchObject({
      completed: true,
      success: false,
      error: '404',
    });
  });

  it('claim a lock that was handed over', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'x' });
    expect((await server.status({ node_id: 'n2' })).body.acquired).toBe(true);
    await server.clock.advance(60_000);
    expect((await server.status()).body.holder.node_id).toBe('n2');
  });
});

describe('GET /locks', () => {
  it('shows what is held and awaited', async () => {
    const server = await TestServer.start();
    const { token } = (await server.lock()).body;
    await server.lock({ node_id: 'n2', subtype: 'gold' });
    const { status, body } = await server.get('/locks');
    expect(status).toBe(200);
    expect(body).toEqual({
      locks: [
        {
          type: 'pull',
          resource_id: 'layer',
          held: true,
          holder: {
            node_id: 'n1',
            requested_at: RFC_3339,
            acquired_at: RFC_3339,
            token,
            lease_ms: 3_600_000,
            claimed: true,
          },
          queue_length: 1,
          waiters: [{ node_id: 'n2', subtype: 'gold', requested_at: RFC_3339 }],
        },
      ],
    });
  });

  it('filters by type, by the beginning of the resource and by node', async () => {
    const server = await TestServer.start();
    await server.lock({ resource_id: 'a1' });
    await server.lock({ resource_id: 'a2', type: 'update', node_id: 'n2' });
    await server.lock({ resource_id: 'b1', node_id: 'n2' });
    await server.lock({ resource_id: 'a1', node_id: 'n2' });
    const ids = async (query: string) =>
      (await server.get(`/locks?${query}`)).body.locks.map((row: { resource_id: string }) => row.resource_id);
    expect(await ids('')).toEqual(['a1', 'a2', 'b1']);
    expect(await ids('type=pull')).toEqual(['a1', 'b1']);
    expect(await ids('resource_id=a')).toEqual(['a1', 'a2']);
    expect(await ids('node_id=n2')).toEqual(['a1', 'a2', 'b1']);
    expect(await ids('node_id=n1')).toEqual(['a1']);
    expect(await ids('type=pull&node_id=n2&resource_id=b')).toEqual(['b1']);
  });

  it('comes in pages that together show everything once', async () => {
    const server = await TestServer.start();
    const requests = Array.from({ length: 25 }, (_, i) => ({ ...KEY, resource_id: `layer ${i}` }));
    await server.post('/lock/batch', { requests });
    const seen: string[] = [];
    let after = '';
    for (let pages = 0; pages < 3; pages++) {
      const { body } = await server.get(`/locks?limit=10&after=${encodeURIComponent(after)}`);
      seen.push(...body.locks.map((row: { resource_id: string }) => row.resource_id));
      expect('next' in body).toBe(pages < 2);
      after = body.next;
    }
    expect(seen).toEqual(requests.map(({ resource_id }) => resource_id).toSorted());
  });
});

describe('POST /locks/release', () => {
  const release = { type: 'pull', resource_id: 'layer', reason: 'n1 is gone' };

  it('takes the lock away without knowing its token, and serves the next', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    const { status, body } = await server.post('/locks/release', release);
    expect(status).toBe(200);
    expect(body).toEqual({ released: true, message: MESSAGE, next_holder: 'n2' });
    expect((await server.unlock()).body.code).toBe('NOT_HOLDER');
  });

  it('takes away only the hold that it names', async () => {
    const server = await TestServer.start();
    const { token } = (await server.lock()).body;
    const wrong = await server.post('/locks/release', { ...release, token: token + 1 });
    expect(wrong.status).toBe(403);
    expect(wrong.body).toEqual({
      released: false,
      error: expect.any(String),
      code: 'STALE_TOKEN',
      message: 'The hold has another token. Nothing was taken away; GET /locks shows who holds what now.',
    });
    expect((await server.post('/locks/release', { ...release, token })).status).toBe(200);
    const none = await server.post('/locks/release', release);
    expect({ status: none.status, code: none.body.code }).toEqual({ status: 403, code: 'LOCK_NOT_FOUND' });
  });

  it('needs a reason', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.post('/locks/release', { type: 'pull', resource_id: 'layer' });
    expect(status).toBe(400);
    expect(Object.keys(body.fields)).toEqual(['reason']);
  });
});
