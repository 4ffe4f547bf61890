import { describe, expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { StoreError } from '../../src/stores/store.error.js';
import { TestServer } from '../support/server-bootstrap.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { WrappedStore } from '../support/wrapped-store.js';

const KEY = { type: 'pull', resource_id: 'layer', node_id: 'n1' };
const MESSAGE = expect.stringMatching(/\S/);

describe('An error', () => {
  it('of an unknown path is 404 with code and message', async () => {
    const server = await TestServer.start();
    const { status, body, headers } = await server.get('/nothing');
    expect(status).toBe(404);
    expect(body).toEqual({ code: 'NOT_FOUND', message: MESSAGE });
    expect(headers['content-type']).toContain('application/json');
  });

  it('of a body that is no JSON, not JSON’s type, or too large has its own status', async () => {
    const server = await TestServer.start();
    const broken = await server.post('/lock', '{"type":');
    expect([broken.status, broken.body]).toEqual([400, { code: 'INVALID_JSON', message: MESSAGE }]);
    const text = await server.post('/lock', '{}', { headers: { 'content-type': 'text/plain' } });
    expect([text.status, text.body]).toEqual([415, { code: 'UNSUPPORTED_MEDIA_TYPE', message: MESSAGE }]);
    const large = await server.unlock({ error: 'x'.repeat(65 * 1024) });
    expect([large.status, large.body]).toEqual([413, { code: 'BODY_TOO_LARGE', message: MESSAGE }]);
  });

  it('has the headers that keep browsers out of mischief, as every answer has', async () => {
    const server = await TestServer.start();
    const answers = [await server.lock(), await server.post('/nowhere', {}), await server.get('/metrics')];
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'x-request-id': expect.stringMatching(/^[\w.-]{5,}$/),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'SAMEORIGIN',
        'strict-transport-security': expect.stringMatching(/max-age=\d+/),
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers).not.toHaveProperty('x-powered-by');
    }
  });

  it('of a batch is 413 only beyond 1 MB', async () => {
    const server = await TestServer.start();
    const item = { ...KEY, error: 'x'.repeat(60 * 1024) };
    const fits = await server.post('/unlock/batch', { requests: Array.from({ length: 16 }, () => item) });
    expect(fits.status).toBe(200);
    const large = await server.post('/unlock/batch', { requests: Array.from({ length: 20 }, () => item) });
    expect(large.status).toBe(413);
  });

  it('of bad input names every wrong field, and ignores unknown ones', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.post('/lock', {
      type: '!',
      resource_id: '',
      node_id: 7,
      session_id: '',
      subtype: '-',
      lease_ms: -1,
      wait_ms: 1.5,
      on_timeout: 'sulk',
      ticket: 9,
      absent: 'no',
      colour: 'red',
    });
    expect(status).toBe(400);
    expect(body).toEqual({ code: 'BAD_REQUEST', message: MESSAGE, fields: expect.any(Object) });
    expect(Object.keys(body.fields).toSorted()).toEqual(
      'absent lease_ms node_id on_timeout resource_id session_id subtype ticket type wait_ms'.split(' '),
    );
    for (const messages of Object.values<string[]>(body.fields)) expect(body.message).toContain(messages[0]);
    expect((await server.lock({ colour: 'red' })).status).toBe(200);
  });

  it('of fields that are wrong only together names each of them', async () => {
    const server = await TestServer.start();
    const wait = await server.lock({ wait_ms: 600_001, ticket: '1.0.x.y' });
    expect([wait.status, Object.keys(wait.body.fields)]).toEqual([400, ['wait_ms', 'ticket']]);
    const outcome = await server.unlock({ success: true, error: 'x', fatal: true });
    expect([outcome.status, Object.keys(outcome.body.fields)]).toEqual([400, ['error', 'fatal']]);
    expect(wait.body.message).toContain('wait_ms must not be more than 600000; ticket ');
  });

  it('of a wait that is too long names it beside fields that are wrong by themselves', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.lock({ type: '!', node_id: 7, wait_ms: 600_001 });
    expect([status, Object.keys(body.fields)]).toEqual([400, ['type', 'node_id', 'wait_ms']]);
    expect(body.message).toMatch(/; wait_ms must not be more than 600000$/);
    const fine = await server.lock({ type: '!', wait_ms: 600_000 });
    expect([fine.status, Object.keys(fine.body.fields)]).toEqual([400, ['type']]);
    const wrong = await server.lock({ type: '!', wait_ms: 600_000.5 });
    expect(wrong.body.fields.wait_ms).toEqual(['wait_ms must be a whole number, at least 0']);
  });

  it('of a ticket of another key is 400, and of another node none', async () => {
    const server = await TestServer.start();
    await server.lock();
    const { ticket } = (await server.lock({ node_id: 'n2' })).body;
    for (const path of ['/lock', '/lock/cancel', '/lock/status']) {
      const other = await server.post(path, { ...KEY, resource_id: 'other', ticket });
      expect([path, other.status]).toEqual([path, 400]);
      expect(Object.keys(other.body.fields)).toEqual(['ticket']);
    }
    expect((await server.lock({ node_id: 'n3', ticket })).body.position).toBe(2);
  });

  it('of a query names its fields, also of keys given twice', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.get('/lock/status?type=pull&type=pull&node_id=n1');
    expect(status).toBe(400);
    expect(Object.keys(body.fields).toSorted()).toEqual(['resource_id', 'type']);
    expect((await server.get('/locks?limit=0')).status).toBe(400);
    expect((await server.get('/lock/status?type=%ff&resource_id=x')).body.code).toBe('BAD_REQUEST');
  });

  it('of an unknown or foreign session is 403, after bad input', async () => {
    const server = await TestServer.start();
    const session_id = await server.session('n2');
    for (const session of ['unknown', session_id]) {
      const { status, body } = await server.lock({ session_id: session });
      expect({ status, code: body.code }).toEqual({ status: 403, code: 'SESSION_NOT_FOUND' });
    }
    expect((await server.lock({ session_id: 'unknown', ticket: 'x' })).status).toBe(400);
  });

  it('of the store is 503 with Retry-After, and changes nothing', async () => {
    const clock = new SimulatedClock();
    const store = new WrappedStore(new MemoryStateStore(clock));
    const server = await TestServer.with().over(store).start();
    store.onCommit = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'commit', 'the disk is full'));
    const { status, headers, body } = await server.lock();
    expect(status).toBe(503);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(body).toEqual({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('the disk is full') });
    store.onCommit = undefined;
    expect((await server.status()).body.held).toBe(false);
  });

  it('of a commit that is too large for the engine is 503 that says what to do', async () => {
    const store = new WrappedStore(new MemoryStateStore(new SimulatedClock()));
    const server = await TestServer.with().over(store).start();
    const tooLarge = new StoreError('STORE_LIMIT', 'commit', 'Raise the limit of the engine.');
    store.onCommit = () => Promise.reject(tooLarge);
    const { status, body } = await server.lock();
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 503,
      code: 'STORE_LIMIT',
      message: 'Raise the limit of the engine.',
    });
  });

  it('of our own is 500 that says nothing of the inside, and a line in the log that says all', async () => {
    const clock = new SimulatedClock();
    const store = new WrappedStore(new MemoryStateStore(clock));
    const server = await TestServer.with().over(store).start();
    store.onCommit = () => Promise.reject(new TypeError('secret'));
    const { status, body } = await server.post('/lock', KEY, { headers: { 'x-request-id': 'mine' } });
    expect(status).toBe(500);
    expect(body).toEqual({ code: 'INTERNAL', message: MESSAGE });
    expect(JSON.stringify(body)).not.toContain('secret');
    const index = server.log.findIndex((line) => line.err?.message === 'secret');
    expect(server.log[index]).toMatchObject({
      level: 50,
      context: 'Http',
      request_id: 'mine',
      err: { stack: expect.any(String) },
    });
    expect(server.log[index + 1]).toMatchObject({
      level: 50,
      request_id: 'mine',
      method: 'POST',
      url: '/lock',
      status: 500,
      code: 'INTERNAL',
    });
  });
});

describe('The id of a request', () => {
  it('is made for it, and told in the answer', async () => {
    const server = await TestServer.start();
    const [one, two] = [await server.get('/health/live'), await server.get('/nothing')];
    expect(one.headers['x-request-id']).toMatch(/^[\w.-]{5,}$/);
    expect(two.headers['x-request-id']).not.toBe(one.headers['x-request-id']);
  });

  it('is the caller’s own if it is a decent one, also when the body is refused', async () => {
    const server = await TestServer.start();
    const mine = { headers: { 'x-request-id': 'trace-1' } };
    expect((await server.post('/lock', '{', mine)).headers['x-request-id']).toBe('trace-1');
    const long = { headers: { 'x-request-id': 'x'.repeat(500) } };
    expect((await server.get('/health/live', long)).headers['x-request-id']).not.toContain('xxx');
  });
});
