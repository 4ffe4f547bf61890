import { describe, expect, it } from 'vitest';
import { failureOf } from '../../src/cli/failure.js';
import { RefusedError } from '../../src/client/index.js';
import { type RefusalCode } from '../../src/core/results.js';
import { refusalBody } from '../../src/locking/wire/refusals.js';
import { TestServer } from '../support/server-bootstrap.js';
import { fakeServer } from '../client/setup.js';
import { holdfast, json } from './setup.js';

const FACTS: Record<RefusalCode, string> = {
  RESOURCE_IN_USE: 'in use by 2 nodes',
  OPERATION_FAILED: 'the bytes are not there',
  LOCK_HELD: 'held by n1',
  LOCK_NOT_FOUND: 'nobody holds this lock',
  NOT_HOLDER: 'held by n1',
  STALE_TOKEN: 'the hold has another token',
  SESSION_NOT_FOUND: 'the session is unknown or has ended',
  QUEUE_FULL: '10000 wait already',
  TOO_MANY_TYPES: 'this resource has 64 types',
  REFCOUNT_DISABLED: 'references are counted by the clients',
};

describe('what the server refuses', () => {
  it.each(Object.entries(FACTS))('as %s is told without endpoints', (code, error) => {
    const { message } = refusalBody({ kind: 'refused', code: code as RefusalCode, error });
    expect(failureOf(new RefusedError(code, message)).message).not.toMatch(/\b(GET|POST) \/|do not publish/);
  });

  it('because it is in use is told with the command that shows by whom', async () => {
    const server = await TestServer.start();
    await server.post('/refcounts/add', { resource_id: 'layer', node_id: 'n9' });
    const run = await holdfast(
      server,
      'run',
      '--type',
      'delete',
      '--resource',
      'layer',
      '--json',
      '--',
      'true',
    );
    expect(json(run)).toEqual({
      error: {
        code: 'RESOURCE_IN_USE',
        message:
          'In use by 1 node. Release the references first: "holdfast refs show --resource layer" shows whose they are.',
      },
    });
  });

  it('because it does not know the request is told so', async () => {
    const server = await TestServer.start();
    const { code, stderr } = await holdfast({ url: `${server.url}/somewhere` }, 'locks');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('--server has a wrong path'),
    });
  });
});

describe('holdfast release, when the lock passes on between looking and taking', () => {
  const HOLDER = { node_id: 'n1', acquired_at: new Date().toISOString(), token: 7 };
  const STATUS = { acquired: false, completed: false, success: false, held: true, queue_length: 0 };
  const ARGS = ['release', '--type', 'update', '--resource', 'site', '--force', '--yes'];

  it.each([
    ['STALE_TOKEN', 'The lock has passed to another holder meanwhile'],
    ['LOCK_NOT_FOUND', 'Nobody holds this lock: it was released meanwhile'],
  ] as const)('says so after %s', async (code, words) => {
    const body = refusalBody({ kind: 'refused', code, error: FACTS[code] });
    const server = await fakeServer(({ method }) =>
      method === 'GET' ? { body: { ...STATUS, holder: HOLDER } } : { status: 403, body },
    );
    const { code: exit, stderr } = await holdfast(server, ...ARGS);
    expect(exit).toBe(1);
    expect(stderr).toContain(words);
    expect(server.requests.at(-1)!.body).toMatchObject({ token: 7 });
  });
});
