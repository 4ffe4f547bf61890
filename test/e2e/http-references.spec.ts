import { describe, expect, it } from 'vitest';
import { MemoryRefCountStorage } from '../../src/refcount/memory-ref-count-storage.js';
import { type RefCountStorage } from '../../src/refcount/ref-count-storage.interface.js';
import { TestServer } from '../support/server-bootstrap.js';

const SINCE = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);

describe('References over HTTP', () => {
  it('are those who use the resource', async () => {
    const server = await TestServer.start();
    const unknown = await server.get('/refcounts?resource_id=layer');
    expect([unknown.status, unknown.body]).toEqual([200, { resource_id: 'layer', count: 0, nodes: [] }]);
    await server.lock();
    await server.unlock();
    const { body } = await server.get('/refcounts?resource_id=layer');
    expect(body).toEqual({ resource_id: 'layer', count: 1, nodes: [{ node_id: 'n1', since: SINCE }] });
  });

  it('are added and released, each node once', async () => {
    const server = await TestServer.start();
    const reference = { resource_id: 'layer', node_id: 'n2' };
    const added = { resource_id: 'layer', node_id: 'n2', count: 1 };
    for (let times = 0; times < 2; times++) {
      const { status, body } = await server.post('/refcounts/add', reference);
      expect([status, body]).toEqual([200, added]);
    }
    for (let times = 0; times < 2; times++) {
      const { status, body } = await server.post('/refcounts/release', reference);
      expect([status, body]).toEqual([200, { ...added, count: 0 }]);
    }
  });

  it('of a node are released all at once', async () => {
    const server = await TestServer.start();
    for (const resource_id of ['a', 'b']) await server.post('/refcounts/add', { resource_id, node_id: 'n1' });
    await server.post('/refcounts/add', { resource_id: 'a', node_id: 'n2' });
    const { status, body } = await server.post('/refcounts/release-node', { node_id: 'n1' });
    expect([status, body]).toEqual([200, { node_id: 'n1', released: 2 }]);
    expect((await server.get('/refcounts?resource_id=a')).body.count).toBe(1);
  });

  it('cannot be added while the resource is being deleted', async () => {
    const server = await TestServer.start();
    await server.lock({ type: 'delete' });
    const { status, body } = await server.post('/refcounts/add', { resource_id: 'layer', node_id: 'n2' });
    expect(status).toBe(403);
    expect(body).toEqual({ error: expect.any(String), code: 'LOCK_HELD', message: expect.any(String) });
  });

  it('are 409 in client mode, all of them', async () => {
    const server = await TestServer.with({ refcountMode: 'client' }).start();
    const reference = { resource_id: 'layer', node_id: 'n1' };
    const answers = [
      await server.get('/refcounts?resource_id=layer'),
      await server.post('/refcounts/add', reference),
      await server.post('/refcounts/release', reference),
      await server.post('/refcounts/release-node', { node_id: 'n1' }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(409);
      expect(body).toMatchObject({ code: 'REFCOUNT_DISABLED', message: expect.any(String) });
    }
  });

  it('in a storage that cannot list by node are not released by node: 501', async () => {
    const inner = new MemoryRefCountStorage();
    const storage: RefCountStorage = {
      getRefCount: (id) => inner.getRefCount(id),
      setRefCount: (id, count) => inner.setRefCount(id, count),
      deleteRefCount: (id) => inner.deleteRefCount(id),
    };
    const server = await TestServer.with().counting(storage).start();
    await server.post('/refcounts/add', { resource_id: 'layer', node_id: 'n1' });
    expect((await server.get('/refcounts?resource_id=layer')).body.count).toBe(1);
    const { status, body } = await server.post('/refcounts/release-node', { node_id: 'n1' });
    expect(status).toBe(501);
    expect(body).toEqual({ code: 'NOT_IMPLEMENTED', message: expect.any(String) });
  });

  it('in a storage that fails are 503, and nothing is granted or released', async () => {
    const storage = new MemoryRefCountStorage();
    const server = await TestServer.with().counting(storage).start();
    await server.lock();
    storage.setRefCount = () => Promise.reject(new Error('the volume is gone'));
    const { status, body, headers } = await server.unlock();
    expect(status).toBe(503);
    expect(headers['retry-after']).toBeDefined();
    expect(body.message).toContain('the volume is gone');
    expect((await server.status()).body.held).toBe(true);
  });

  it('are 400 when the request is not in order', async () => {
    const server = await TestServer.start();
    expect(Object.keys((await server.get('/refcounts')).body.fields)).toEqual(['resource_id']);
    const { status, body } = await server.post('/refcounts/add', {});
    expect([status, Object.keys(body.fields).toSorted()]).toEqual([400, ['node_id', 'resource_id']]);
  });
});
