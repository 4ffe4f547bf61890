import { describe, expect, it } from 'vitest';
import { TestServer } from '../support/server-bootstrap.js';

const KEY = { type: 'pull', resource_id: 'layer', node_id: 'n1' };

describe('POST /lock/batch', () => {
  it('answers each request as it would have been answered alone, in order', async () => {
    const server = await TestServer.start();
    await server.lock({ node_id: 'n2' });
    await server.lock({ resource_id: 'used', node_id: 'n2' });
    await server.unlock({ resource_id: 'used', node_id: 'n2' });
    const { status, body } = await server.post('/lock/batch', {
      requests: [
        KEY,
        { ...KEY, resource_id: 'free' },
        { ...KEY, resource_id: 'used' },
        { ...KEY, resource_id: 'used', type: 'delete' },
        { ...KEY, resource_id: '', type: '!' },
        { ...KEY, session_id: 'unknown' },
        { ...KEY, resource_id: 'waiting', wait_ms: 5 },
        { ...KEY, resource_id: '', wait_ms: 5 },
        'nonsense',
      ],
    });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { status: 200, acquired: false, position: 1, ticket: expect.any(String) },
      { status: 200, acquired: true, token: expect.any(Number), lease_ms: 3_600_000 },
      { status: 200, skip: true },
      { status: 403, acquired: false, skip: false, code: 'RESOURCE_IN_USE' },
      {
        status: 400,
        code: 'BAD_REQUEST',
        fields: { type: [expect.any(String)], resource_id: [expect.any(String)] },
      },
      { status: 403, code: 'SESSION_NOT_FOUND' },
      { status: 400, fields: { wait_ms: [expect.any(String)] } },
      { status: 400, fields: { resource_id: [expect.any(String)], wait_ms: [expect.any(String)] } },
      { status: 400, code: 'BAD_REQUEST', message: expect.any(String) },
    ]);
    expect((await server.status({ resource_id: 'waiting' })).body.held).toBe(false);
  });

  it('takes 1 to 256 requests', async () => {
    const server = await TestServer.start();
    const requests = Array.from({ length: 257 }, (_, i) => ({ ...KEY, resource_id: `layer ${i}` }));
    for (const wrong of [{ requests: [] }, { requests }, {}, { requests: KEY }]) {
      const { status, body } = await server.post('/lock/batch', wrong);
      expect(status).toBe(400);
      expect(Object.keys(body.fields)).toEqual(['requests']);
    }
    const { body } = await server.post('/lock/batch', { requests: requests.slice(0, 256) });
    expect(body.results).toHaveLength(256);
    expect(body.results.every((result: { acquired: boolean }) => result.acquired)).toBe(true);
  });

  it('answers requests for one key one after the other', async () => {
    const server = await TestServer.start();
    const requests = ['n1', 'n2', 'n3', 'n1'].map((node_id) => ({ ...KEY, node_id }));
    const { results } = (await server.post('/lock/batch', { requests })).body;
    expect(results).toMatchObject([{ acquired: true }, { position: 1 }, { position: 2 }, { acquired: true }]);
    expect(results[3].token).toBe(results[0].token);
  });
});

describe('POST /unlock/batch', () => {
  it('answers each release as it would have been answered alone', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.lock({ resource_id: 'other', node_id: 'n2' });
    const { status, body } = await server.post('/unlock/batch', {
      requests: [
        { ...KEY, error: 'x' },
        { ...KEY, resource_id: 'other' },
        { ...KEY, resource_id: 'nothing' },
        { ...KEY, success: true, error: 'both' },
      ],
    });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { status: 200, released: true, next_holder: 'n2' },
      { status: 403, released: false, code: 'NOT_HOLDER' },
      { status: 403, released: false, code: 'LOCK_NOT_FOUND' },
      { status: 400, fields: { error: [expect.any(String)] } },
    ]);
  });
});

describe('POST /lock/renew/batch', () => {
  it('answers each renewal as it would have been answered alone', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ resource_id: 'other', node_id: 'n2' });
    const { status, body } = await server.post('/lock/renew/batch', {
      requests: [
        { ...KEY, lease_ms: 1234 },
        { ...KEY, resource_id: 'other' },
        { ...KEY, resource_id: 'nothing' },
        { ...KEY, lease_ms: -1 },
        { ...KEY, token: 5 },
      ],
    });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { status: 200, renewed: true, lease_ms: 1234 },
      { status: 403, renewed: false, code: 'NOT_HOLDER' },
      { status: 403, renewed: false, code: 'LOCK_NOT_FOUND' },
      { status: 400, fields: { lease_ms: [expect.any(String)] } },
      { status: 403, renewed: false, code: 'STALE_TOKEN' },
    ]);
  });
});
