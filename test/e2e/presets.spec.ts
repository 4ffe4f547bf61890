import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';
import { BARE, GRANTED, QUEUED, Resource, SKIPPED } from './preset-nodes.js';

/** A server with this configuration, for the tests of one block; gives their resources. */
function preset(settings: Record<string, string>): (id: string) => Resource {
  let server: ServerProcess;
  beforeAll(
    async () => void (server = await ServerProcess.start({ ...BARE, ...settings })),
    START_TIMEOUT_MS,
  );
  afterAll(() => server?.remove());
  return (id) => new Resource(server, id);
}

describe('the preset of seeds 000, 003 and 004 (REFCOUNT_MODE=client)', () => {
  const resource = preset({ REFCOUNT_MODE: 'client' });

  it('lets one node through without a lease, queues the others and tells them of the success', async () => {
    const layer = resource('000-success');
    expect(await layer.lock('pull', 'a')).toMatchObject({ ...GRANTED, lease_ms: 0, reference_count: null });
    expect(await layer.lock('pull', 'b')).toMatchObject({ ...QUEUED, position: 1 });
    const told = await layer.heard('pull', () => layer.unlock('pull', 'a'));
    expect(told).toMatchObject({ type: 'pull', resource_id: '000-success', node_id: 'a', success: true });
  });

  it('forgets the lock at a success: who was queued is skipped once, who comes later runs again', async () => {
    const layer = resource('000-later');
    await layer.lock('pull', 'a');
    await layer.lock('pull', 'b');
    await layer.unlock('pull', 'a');
    expect(await layer.lock('pull', 'b')).toMatchObject(SKIPPED);
    expect(await layer.lock('pull', 'c')).toMatchObject(GRANTED);
  });

  it('hands the lock to the head of the queue at a failure, by an event with its own node', async () => {
    const layer = resource('000-failure');
    for (const node of ['a', 'b', 'c']) await layer.lock('pull', node);
    const told = await layer.heard('pull', () => layer.unlock('pull', 'a', 'disk full'));
    expect(told).toMatchObject({ node_id: 'b', success: false, error: '' });
    expect(await layer.lock('pull', 'b')).toMatchObject(GRANTED);
    expect(await layer.lock('pull', 'c')).toMatchObject({ ...QUEUED, position: 1 });
  });

  it('grants a repeated request of the holder again', async () => {
    const layer = resource('003-again');
    const first = await layer.lock('pull', 'a');
    expect(await layer.lock('pull', 'a')).toMatchObject({ ...GRANTED, token: first['token'] });
  });

  it('refuses to unlock what nobody holds, or another', async () => {
    const layer = resource('003-refused');
    expect(await layer.unlock('pull', 'a')).toMatchObject({ status: 403, body: { released: false } });
    await layer.lock('pull', 'a');
    expect(await layer.unlock('pull', 'b')).toMatchObject({ status: 403, body: { released: false } });
  });

  it('queues pull, update and delete apart: a failed pull serves the pulls alone', async () => {
    const layer = resource('004-types');
    expect(await layer.lock('pull', 'a')).toMatchObject(GRANTED);
    expect(await layer.lock('update', 'b')).toMatchObject(GRANTED);
    expect(await layer.lock('delete', 'c')).toMatchObject(GRANTED);
    expect(await layer.lock('pull', 'd')).toMatchObject(QUEUED);
    expect(await layer.lock('update', 'e')).toMatchObject(QUEUED);
    expect((await layer.unlock('pull', 'a', 'failed')).body).toMatchObject({
      released: true,
      next_holder: 'd',
    });
    expect(await layer.lock('pull', 'd')).toMatchObject(GRANTED);
    expect(await layer.lock('update', 'e')).toMatchObject({ ...QUEUED, position: 1 });
  });

  it('counts nothing: a delete of what was pulled is granted, and the counts are not here', async () => {
    const layer = resource('000-counts');
    await layer.lock('pull', 'a');
    await layer.unlock('pull', 'a');
    expect(await layer.lock('delete', 'b')).toMatchObject(GRANTED);
    expect(await layer.refcounts()).toMatchObject({ status: 409, body: { code: 'REFCOUNT_DISABLED' } });
  });
});

describe('the preset of seed 000 with one node only (ALLOW_MULTI_NODE_DOWNLOAD=false)', () => {
  const resource = preset({ REFCOUNT_MODE: 'client', ALLOW_MULTI_NODE_DOWNLOAD: 'false' });

  it('refuses what is held instead of queueing', async () => {
    const layer = resource('000-single');
    await layer.lock('pull', 'a');
    expect(await layer.post('/lock', 'pull', 'b')).toMatchObject({
      status: 403,
      body: { code: 'LOCK_HELD' },
    });
    await layer.unlock('pull', 'a', 'failed');
    expect(await layer.lock('pull', 'b')).toMatchObject(GRANTED);
  });
});

describe('the preset of seed 001 (COMPLETED_SKIP_MS=300000)', () => {
  const resource = preset({ COMPLETED_SKIP_MS: '300000' });

  it.each(['pull', 'update', 'delete'])(
    'skips every %s for five minutes after one has succeeded',
    async (type) => {
      const layer = resource(`001-skip-${type}`);
      expect(await layer.lock(type, 'a')).toMatchObject(GRANTED);
      await layer.unlock(type, 'a');
      for (const node of ['a', 'b', 'b']) expect(await layer.lock(type, node)).toMatchObject(SKIPPED);
    },
  );

  it('serves the queue in order after failures, and never answers "not acquired" on a free key', async () => {
    const layer = resource('001-failure');
    for (const node of ['a', 'b', 'c']) await layer.lock('update', node);
    expect((await layer.unlock('update', 'a', 'failed')).body).toMatchObject({ next_holder: 'b' });
    expect((await layer.unlock('update', 'b', 'failed')).body).toMatchObject({ next_holder: 'c' });
    await layer.unlock('update', 'c', 'failed');
    expect(await layer.lock('update', 'd')).toMatchObject(GRANTED);
  });

  it('counts each node of a pull once, leaves the count at an update and drops it at a delete', async () => {
    const layer = resource('001-counts');
    for (const node of ['a', 'b', 'b']) {
      if ((await layer.lock('pull', node))['acquired']) await layer.unlock('pull', node);
    }
    expect((await layer.refcounts()).body).toMatchObject({
      count: 2,
      nodes: [{ node_id: 'a' }, { node_id: 'b' }],
    });
    expect(await layer.lock('update', 'c')).toMatchObject(GRANTED);
    await layer.unlock('update', 'c');
    expect((await layer.refcounts()).body).toMatchObject({ count: 2 });
  });

  it('refuses to delete what is in use, and lets go of it when it is not', async () => {
    const layer = resource('001-delete');
    await layer.lock('pull', 'a');
    await layer.unlock('pull', 'a');
    const refused = await layer.post('/lock', 'delete', 'b');
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'RESOURCE_IN_USE', acquired: false, skip: false },
    });
    await layer.post('/refcounts/release', 'pull', 'a');
    expect(await layer.lock('delete', 'b')).toMatchObject(GRANTED);
    await layer.unlock('delete', 'b');
    expect((await layer.refcounts()).body).toMatchObject({ count: 0 });
    expect(await layer.lock('pull', 'a')).toMatchObject(GRANTED);
  });

  it('answers a poll: waiting, then mine after a failure, then completed after a success', async () => {
    const layer = resource('001-status');
    for (const node of ['a', 'b', 'c']) await layer.lock('update', node);
    expect(await layer.status('update', 'b')).toMatchObject({
      acquired: false,
      completed: false,
      position: 1,
    });
    await layer.unlock('update', 'a', 'failed');
    expect(await layer.status('update', 'b')).toMatchObject({ acquired: true, completed: false });
    await layer.unlock('update', 'b');
    expect(await layer.status('update', 'c')).toMatchObject({
      acquired: false,
      completed: true,
      success: true,
    });
  });

  it('answers 400 to a request without its parameters', async () => {
    expect(await resource('001-bad').post('/lock', '', '')).toMatchObject({ status: 400 });
  });
});

describe('the preset of seed 001 for updates of unused resources (UPDATE_REQUIRES_NO_REF=true)', () => {
  const resource = preset({ COMPLETED_SKIP_MS: '300000', UPDATE_REQUIRES_NO_REF: 'true' });

  it('refuses to update what is in use', async () => {
    const layer = resource('001-update');
    await layer.lock('pull', 'a');
    await layer.unlock('pull', 'a');
    const refused = await layer.post('/lock', 'update', 'b');
    expect(refused).toMatchObject({ status: 403, body: { code: 'RESOURCE_IN_USE' } });
  });
});

describe('the preset of seed 002 (REFCOUNT_MODE=client SUCCESS_POLICY=handover, with LANES)', () => {
  const lanes = { LANES: 'urgent,bulk', BIND_GRACE_MS: '100' };
  const resource = preset({ REFCOUNT_MODE: 'client', SUCCESS_POLICY: 'handover', ...lanes });

  it.each(['', 'failed'])(
    'passes the lock on in order after every outcome (error "%s"), skipping nobody',
    async (error) => {
      const layer = resource(`002-order-${error}`);
      expect(await layer.lock('pull', 'a')).toMatchObject(GRANTED);
      for (const node of ['b', 'c']) expect(await layer.lock('pull', node)).toMatchObject(QUEUED);
      const told = await layer.heard('pull', () => layer.unlock('pull', 'a', error));
      expect(told).toMatchObject({ node_id: 'b', success: false, error: '' });
      expect(await layer.lock('pull', 'c')).toMatchObject({ ...QUEUED, position: 1 });
      expect(await layer.lock('pull', 'b')).toMatchObject(GRANTED);
      expect((await layer.unlock('pull', 'b', error)).body).toMatchObject({
        released: true,
        next_holder: 'c',
      });
      await layer.unlock('pull', 'c', error);
      expect(await layer.lock('pull', 'd')).toMatchObject(GRANTED);
    },
  );

  it('scans the lanes in their order, each first come first served, unknown ones last', async () => {
    const layer = resource('002-lanes');
    await layer.lock('pull', 'holder');
    const arrivals = {
      plain: undefined,
      odd: 'odd',
      bulk1: 'bulk',
      urgent1: 'urgent',
      bulk2: 'bulk',
      urgent2: 'urgent',
    };
    for (const [node, subtype] of Object.entries(arrivals)) await layer.lock('pull', node, { subtype });
    const served: unknown[] = [];
    for (let holder: unknown = 'holder'; holder !== undefined; served.push(holder)) {
      holder = (await layer.unlock('pull', String(holder))).body['next_holder'];
    }
    expect(served).toEqual(['urgent1', 'urgent2', 'bulk1', 'bulk2', 'plain', 'odd', undefined]);
  });

  it('takes the lock from a holder, and the place from a waiter, whose watched connection is gone', async () => {
    const layer = resource('002-connection');
    for (const node of ['a', 'b', 'c']) await layer.lock('pull', node);
    const [holder, waiter] = [
      await layer.subscribe('pull', { node_id: 'a', bind: 'true' }),
      await layer.subscribe('pull', { node_id: 'b', bind: 'true' }),
    ];
    const third = await layer.subscribe('pull');
    waiter.close();
    await expect.poll(() => layer.status('pull', 'c')).toMatchObject({ position: 1 });
    holder.close();
    expect(await third.next()).toMatchObject({ node_id: 'c', success: false });
    expect(await layer.lock('pull', 'c')).toMatchObject(GRANTED);
    third.close();
  });

  it('refuses to unlock what another holds', async () => {
    const layer = resource('002-refused');
    await layer.lock('pull', 'a');
    expect(await layer.unlock('pull', 'b')).toMatchObject({ status: 403, body: { released: false } });
  });
});
