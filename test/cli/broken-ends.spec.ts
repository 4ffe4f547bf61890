import { describe, expect, it } from 'vitest';
import { fakeServer } from '../client/setup.js';
import { type FakeAnswer } from '../support/fake-server.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { holdfast, json, SLOW_MS, start } from './setup.js';

const KEY = ['--type', 'update', '--resource', 'site'];
const FAILING = ['--', 'sh', '-c', 'exit 3'];

describe('a failure that nobody reads', () => {
  it('on standard output is a failure all the same', async () => {
    const server = await TestServer.start();
    const run = start(server, ['run', ...KEY, '--json', ...FAILING]);
    run.child.stdout!.destroy();
    expect((await run.finished).code).toBe(3);
  });

  it('on standard error has its own exit code', async () => {
    const server = await TestServer.start();
    const run = start(server, ['run', ...KEY, ...FAILING]);
    run.child.stderr!.destroy();
    expect((await run.finished).code).toBe(3);
  });
});

describe('holdfast watch', () => {
  const STREAM = { 'content-type': 'text/event-stream' };

  it.each<[string, FakeAnswer]>([
    ['a page', { headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['a stream of something else', { headers: STREAM, body: 'data: hello\n\n' }],
    ['a stream of nothing', { headers: STREAM, body: '' }],
    ['a stream of numbers', { headers: STREAM, body: 'data: 5\n\n' }],
    ['a stream that begins otherwise', { headers: STREAM, body: 'event: granted\ndata: {}\n\n' }],
    ['an odd snapshot', { headers: STREAM, body: 'event: snapshot\ndata: {"locks":[null]}\n\n' }],
  ])('says that %s is not Holdfast', async (_name, answer) => {
    const server = await fakeServer(() => answer);
    const { code, stderr } = await holdfast(server, 'watch');
    expect(code).toBe(69);
    expect(stderr).toContain(server.url);
  });
});

it.each<[number, string, string, string]>([
  [503, 'STORE_UNAVAILABLE', 'Redis is not connected: try again', 'Redis is not connected: try again\n'],
  [404, 'NOT_FOUND', 'There is no GET /foo/events.', 'wrong path'],
])('says what holdfast watch is told instead of a stream: %i %s', async (status, code, message, said) => {
  const server = await fakeServer(() => ({ status, body: { code, message } }));
  const { stderr } = await holdfast(server, 'watch');
  expect(stderr).toContain(said);
  expect(stderr).not.toContain('No Holdfast server answers');
});

it.each([502, 503, 504])(
  'says of a %i without a word of Holdfast that a proxy reaches nobody',
  async (status) => {
    const server = await fakeServer(() => ({
      status,
      headers: { 'content-type': 'text/html' },
      body: '<html>',
    }));
    const locks = await holdfast(server, 'locks');
    expect(locks.code).toBe(69);
    expect(locks.stderr).toContain('A proxy answers there and reaches no Holdfast server behind it');
    const { stderr } = await holdfast(server, 'status');
    expect(stderr).toContain(`${server.url} is not reached: a proxy answered ${status}\n`);
  },
);

it.each([404, 501])('says that a server that answers %i in its own way is not Holdfast', async (status) => {
  const server = await fakeServer(() => ({
    status,
    headers: { 'content-type': 'text/html' },
    body: '<html>',
  }));
  const locks = await holdfast(server, 'locks');
  expect(locks.code).toBe(69);
  expect(locks.stderr).toContain(`${server.url}/ answered ${status}`);
  expect(locks.stderr).toContain('Something that is not Holdfast answers there');
  const { code, stderr } = await holdfast(server, 'status');
  expect(code).toBe(69);
  expect(stderr).toContain(`${server.url} is not Holdfast: something else answered ${status}\n`);
  expect(stderr).toContain('name another with --server');
});

it.each([
  [['status']],
  [['status', ...KEY]],
  [['locks']],
  [['refs', 'show', '--resource', 'site']],
  [['refs', 'add', '--resource', 'site']],
  [['release', ...KEY, '--force', '--yes']],
])('%j does not take any object for an answer', async (args) => {
  const server = await fakeServer(() => ({ body: { locks: [null], nodes: [null], count: 'x' } }));
  const { code, stdout, stderr } = await holdfast(server, ...args);
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
  expect(stderr).toContain('not Holdfast');
});

it('a server may be named with any number of slashes at its end', async () => {
  const server = await TestServer.start();
  const { code } = await holdfast({ url: `${server.url}///` }, 'status');
  expect(code).toBe(0);
});

it('run --wait 0 does not wait, and leaves no trace', async () => {
  const server = await TestServer.start();
  await server.post('/lock', { type: 'update', resource_id: 'site', node_id: 'n1' });
  const { code, stdout, stderr } = await holdfast(server, 'run', ...KEY, '--wait', '0', '--', 'echo', 'no');
  expect({ code, stdout }).toEqual({ code: 75, stdout: '' });
  expect(stderr).toMatch(/^update site is held by n1 for \d+ s: --wait 0 does not queue for it\.\n$/);
  expect((await server.get('/locks')).body.locks).toMatchObject([{ held: true, queue_length: 0 }]);
});

it.each([
  ['answers 503', 503, { code: 'STORE_UNAVAILABLE', message: 'The store is away.' }, 'STORE_UNAVAILABLE'],
  ['is not Holdfast', 502, '<html>', 'HTTP_502'],
])('run --wait says that the server %s', async (_what, status, body, code) => {
  const server = await fakeServer(() => ({ status, body }));
  const args = ['run', ...KEY, '--wait', '700', '--json', '--', 'echo', 'no'];
  const result = await holdfast(server, ...args);
  expect(result.code).toBe(75);
  const { error } = json(result) as { error: { message: string; cause: { code: string; message: string } } };
  expect(error).toMatchObject({ code: 'WAIT_TIMEOUT', cause: { code } });
  expect(error.message).toBe(`update site was not granted within 700 ms.\n${error.cause.message}`);
  expect(result.stderr).toBe(`${error.message}\n`);
});

it('an error in which somebody steers the terminal is shown, not obeyed', async () => {
  const server = await TestServer.start();
  const key = { type: 'update', resource_id: 'site' };
  const watch = start(server, ['watch']);
  await until(() => watch.stderr.includes('Watching'), SLOW_MS);
  await server.post('/lock', { ...key, node_id: 'n1' });
  const error = '\x1b]0;gotcha\x07\nforged';
  await server.post('/unlock', { ...key, node_id: 'n1', error, fatal: true });
  await watch.untilPrints('forged');
  const { stdout } = await holdfast(server, 'status', ...KEY);
  for (const text of [watch.stdout, stdout]) {
    expect(text).toContain('\\u001b]0;gotcha\\u0007\\u000aforged');
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  }
});
