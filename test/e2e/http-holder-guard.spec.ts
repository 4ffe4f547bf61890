import { describe, expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { FaultyStore } from '../support/faulty-store.js';
import { seeded } from '../support/random.js';
import { TestServer } from '../support/server-bootstrap.js';
import { holdNextCommit } from '../support/server-gate.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const KEY = { type: 'pull', resource_id: 'layer', node_id: 'n1' };

/** Two servers over one store; the second sees changes only when it is shown them. */
async function twoServers() {
  const clock = new SimulatedClock();
  const inner = new MemoryStateStore(clock);
  await inner.open();
  const behind = new FaultyStore(inner, seeded(1), { heldBack: 1 });
  const first = await TestServer.with()
    .over(new FaultyStore(inner, seeded(2), {}))
    .start();
  const second = await TestServer.with().over(behind).start();
  return { first, second, behind };
}

describe('The holder guard', () => {
  it('turns away who does not hold the lock, without a write', async () => {
    const server = await TestServer.start();
    await server.lock();
    const commits = await server.metric('holdfast_store_commit_seconds_count{outcome="committed"}');
    expect((await server.unlock({ node_id: 'n2' })).body.code).toBe('NOT_HOLDER');
    expect((await server.post('/lock/renew', { ...KEY, token: 1 })).body.code).toBe('STALE_TOKEN');
    expect(await server.metric('holdfast_store_commit_seconds_count{outcome="committed"}')).toBe(commits);
  });

  it('turns away before the resource’s turn: at once, while a commit of it is under way', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    await server.lock();
    const lasting = holdNextCommit(store);
    const renewal = server.post('/lock/renew', KEY);
    await lasting.reached;
    expect((await server.unlock({ node_id: 'n2' })).body.code).toBe('NOT_HOLDER');
    expect((await server.post('/lock/renew', { ...KEY, token: 1 })).body.code).toBe('STALE_TOKEN');
    const { results } = (await server.post('/unlock/batch', { requests: [{ ...KEY, node_id: 'n2' }] })).body;
    expect(results).toMatchObject([{ status: 403, code: 'NOT_HOLDER' }]);
    lasting.open();
    expect((await renewal).status).toBe(200);
  });

  it('leaves what is wrong with a request to be said by validation', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.post('/unlock', { node_id: 'n2' });
    expect([status, Object.keys(body.fields).toSorted()]).toEqual([400, ['resource_id', 'type']]);
  });

  it('lets the last release be repeated', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.unlock();
    expect((await server.unlock()).body.released).toBe(true);
    expect((await server.unlock({ error: 'x' })).body.code).toBe('LOCK_NOT_FOUND');
  });

  it.each(['/unlock', '/lock/renew'])('of %s never refuses on the strength of an old cache', async (path) => {
    const { first, second } = await twoServers();
    await first.lock();
    expect((await second.post(path, KEY)).status).toBe(200);
  });

  it('never refuses an item of a batch on the strength of an old cache', async () => {
    const { first, second } = await twoServers();
    await first.lock();
    const { results } = (await second.post('/unlock/batch', { requests: [KEY] })).body;
    expect(results).toMatchObject([{ status: 200, released: true }]);
  });

  it('that an old cache deceives is corrected by the core', async () => {
    const { first, second, behind } = await twoServers();
    await first.lock();
    behind.deliver();
    await first.lock({ node_id: 'n2' });
    await first.unlock({ error: 'x' });
    const refused = await second.unlock({ error: 'y' });
    expect([refused.status, refused.body.code]).toEqual([403, 'NOT_HOLDER']);
    expect((await first.status()).body.holder.node_id).toBe('n2');
  });
});
