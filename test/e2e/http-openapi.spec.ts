import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';
import { type Json, TestServer } from '../support/server-bootstrap.js';

const FILE = join(resolve(import.meta.dirname, '../..'), 'docs/openapi.json');

/** Every `$ref` below this. */
function* references(node: unknown): Iterable<string> {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref') yield String(value);
    else yield* references(value);
  }
}

async function update(document: object): Promise<void> {
  const options = { ...(await resolveConfig(FILE)), parser: 'json' };
  writeFileSync(FILE, await format(JSON.stringify(document, undefined, 2), options));
}

describe('The API’s document', () => {
  /** After a change that is meant: `UPDATE_OPENAPI=1 npx vitest run test/e2e/http-openapi.spec.ts`, and commit it. */
  it('is the committed docs/openapi.json', async () => {
    const server = await TestServer.start();
    const { status, body } = await server.get('/openapi.json');
    expect(status).toBe(200);
    if (process.env['UPDATE_OPENAPI']) await update(body);
    expect(existsSync(FILE)).toBe(true);
    expect(body).toEqual(JSON.parse(readFileSync(FILE, 'utf8')));
  });

  it('describes every endpoint, what it takes, what it answers and its errors', async () => {
    const server = await TestServer.start();
    const { body } = await server.get('/openapi.json');
    const endpoints = Object.entries<object>(body.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item as Json).map(([method, operation]) => ({ path, method, operation })),
    );
    expect(endpoints.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'delete /sessions/{id}',
      'get /events',
      'get /health/live',
      'get /health/ready',
      'get /lock/status',
      'get /lock/subscribe',
      'get /locks',
      'get /metrics',
      'get /refcounts',
      'get /sessions/{id}/events',
      'get /subscribe',
      'post /lock',
      'post /lock/batch',
      'post /lock/cancel',
      'post /lock/renew',
      'post /lock/renew/batch',
      'post /lock/status',
      'post /locks/release',
      'post /refcounts/add',
      'post /refcounts/release',
      'post /refcounts/release-node',
      'post /sessions',
      'post /sessions/{id}/renew',
      'post /unlock',
      'post /unlock/batch',
    ]);
    for (const { path, method, operation } of endpoints) {
      const at = `${method} ${path}`;
      expect(operation.summary, at).toMatch(/\S/);
      expect(operation.responses['200'].content, at).toBeDefined();
      if (method === 'post' && !path.includes('{id}'))
        expect(operation.requestBody.content, at).toBeDefined();
      const usual = path.startsWith('/health') || path === '/metrics' ? [] : ['400', '503'];
      expect(Object.keys(operation.responses), at).toEqual(expect.arrayContaining(usual));
    }
    const schemas = Object.keys(body.components.schemas);
    for (const reference of references(body)) expect(schemas).toContain(reference.split('/').at(-1));
  });

  it('shows bodies that are taken as they are', async () => {
    const server = await TestServer.start();
    const { body } = await server.get('/openapi.json');
    const bodies = Object.entries<Json>(body.paths).flatMap(([path, { post }]) =>
      post?.requestBody ? [[path, post.requestBody.content['application/json'].example] as const] : [],
    );
    expect(bodies).toHaveLength(13);
    for (const [path, example] of bodies) {
      const { status, body: answer } = await server.post(path, example);
      expect([path, status]).not.toEqual([path, 400]);
      for (const result of answer.results ?? []) expect([path, result.status]).not.toEqual([path, 400]);
    }
  });

  it('describes the answers as they are', async () => {
    const server = await TestServer.start();
    const { schemas } = (await server.get('/openapi.json')).body.components;
    const fits = (schema: string, answer: object) => {
      const { properties, required } = schemas[schema];
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(answer)));
      expect(Object.keys(answer)).toEqual(expect.arrayContaining(required));
    };
    fits('LockAnswerDto', (await server.lock()).body);
    fits('LockAnswerDto', (await server.lock({ node_id: 'n2' })).body);
    fits('StatusAnswerDto', (await server.status({ node_id: 'n2' })).body);
    fits('HolderDto', (await server.status()).body.holder);
    const { body: list } = await server.get('/locks');
    fits('LockListDto', list);
    fits('ListedLockDto', list.locks[0]);
    fits('ListedHolderDto', list.locks[0].holder);
    fits('ListedWaiterDto', list.locks[0].waiters[0]);
    const key = { type: 'pull', resource_id: 'layer', node_id: 'n1' };
    fits('RenewAnswerDto', (await server.post('/lock/renew', key)).body);
    fits('CancelAnswerDto', (await server.post('/lock/cancel', key)).body);
    fits('RefusalDto', (await server.unlock({ token: 1 })).body);
    fits('UnlockAnswerDto', (await server.unlock({ error: 'x' })).body);
    fits('BadRequestDto', (await server.post('/unlock', {})).body);
    fits('ErrorDto', (await server.get('/nothing')).body);
    fits('ReferenceAnswerDto', (await server.post('/refcounts/add', { ...key, resource_id: 'r' })).body);
    const { body: references } = await server.get('/refcounts?resource_id=r');
    fits('ReferencesDto', references);
    fits('ReferencingNodeDto', references.nodes[0]);
    fits('ReleasedNodeDto', (await server.post('/refcounts/release-node', key)).body);
    const { body: session } = await server.post('/sessions', key);
    fits('SessionDto', session);
    fits('SessionRenewedDto', (await server.post(`/sessions/${session.session_id}/renew`, {})).body);
    fits('SessionEndedDto', (await server.call('DELETE', `/sessions/${session.session_id}`)).body);
  });

  it('can be read by people', async () => {
    const server = await TestServer.start();
    const { status, text } = await server.get('/docs');
    expect(status).toBe(200);
    expect(text).toContain('swagger-ui');
  });
});
