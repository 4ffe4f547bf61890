import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/stores/store.error.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { holdfast, json, NOWHERE, serverProcess, SLOW_MS, start } from './setup.js';

const KEY = ['--type', 'update', '--resource', 'site'];
const HELD = { type: 'update', resource_id: 'site', node_id: 'n1' };

async function held(): Promise<TestServer> {
  const server = await TestServer.start();
  await server.post('/lock', HELD);
  await server.post('/lock', { ...HELD, node_id: 'n2' });
  return server;
}

describe('holdfast status', () => {
  it('tells how the server stands', async () => {
    const server = await held();
    const { code, stdout } = await holdfast(server, 'status');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${server.url} is ready\n  held     1\n  waiting  1\n`,
    });
    expect(json(await holdfast(server, 'status', '--json'))).toMatchObject({
      ready: true,
      held: 1,
      waiting: 1,
    });
  });

  it('tells how a key stands, and claims nothing', async () => {
    const server = await held();
    const { stdout } = await holdfast(server, 'status', ...KEY);
    expect(stdout).toMatch(
      /^update site\n {2}state {7}held by n1 for \d+ s \(token \d+\)\n {2}waiting {5}1\n/,
    );
    const status = json(await holdfast(server, 'status', ...KEY, '--json'));
    expect(status).toMatchObject({ held: true, acquired: false, queue_length: 1, holder: { node_id: 'n1' } });
  });

  it('needs both parts of a key', async () => {
    expect(await holdfast(NOWHERE, 'status', '--type', 'pull')).toMatchObject({ code: 2 });
  });

  it('exits with 69 and a document when no server answers', async () => {
    const answer = await holdfast(NOWHERE, 'status', '--json');
    expect(answer.code).toBe(69);
    expect(json(answer)).toMatchObject({ error: { code: 'UNREACHABLE' } });
  });

  it('tells of each server how it stands; one that is ready is enough', async () => {
    const server = await held();
    const urls = `${NOWHERE.url}, ${server.url}`;
    const { code, stdout } = await holdfast(NOWHERE, 'status', '--server', urls);
    expect(code).toBe(0);
    expect(stdout).toBe(
      `${NOWHERE.url} does not answer: connect ECONNREFUSED 127.0.0.1:1\n` +
        `${server.url} is ready\n  held     1\n  waiting  1\n`,
    );
    expect(json(await holdfast(NOWHERE, 'status', '--server', urls, '--json'))).toMatchObject({
      ready: true,
      servers: [
        { url: NOWHERE.url, ready: false, code: 'UNREACHABLE' },
        { url: server.url, ready: true },
      ],
      held: 1,
    });
  });

  it('says why a server is not ready', async () => {
    const store = new KeptStore(new SimulatedClock());
    const server = await TestServer.with().over(store).start();
    store.onGet = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'get', 'the disk is gone'));
    const plain = await holdfast(server, 'status');
    expect(plain).toMatchObject({ code: 69, stdout: '' });
    expect(plain.stderr).toMatch(`${server.url} is not ready: store: `);
    expect(plain.stderr).toContain('the disk is gone\n');
    const urls = `${NOWHERE.url},${server.url}`;
    expect(json(await holdfast(NOWHERE, 'status', '--server', urls, '--json'))).toMatchObject({
      error: { code: 'NOT_READY', message: expect.stringContaining('the disk is gone') },
      ready: false,
      servers: [
        { url: NOWHERE.url, code: 'UNREACHABLE' },
        { url: server.url, ready: false, code: 'NOT_READY', details: { store: { status: 'down' } } },
      ],
    });
  });
});

describe('holdfast locks', () => {
  it('lists what is held and awaited', async () => {
    const server = await held();
    const { stdout } = await holdfast(server, 'locks');
    const [head, row, ...rest] = stdout.trimEnd().split('\n');
    expect(head!.split(/ {2,}/)).toEqual(['TYPE', 'RESOURCE', 'HOLDER', 'SINCE', 'LEASE LEFT', 'WAITERS']);
    expect(row).toMatch(/^update {2}site {6}n1 {6}\d+ s {4}(59 min|1 h) +1$/);
    expect(rest).toEqual([]);
    expect(json(await holdfast(server, 'locks', '--json'))).toMatchObject({ locks: [{ queue_length: 1 }] });
  });

  it('lists only what is asked for', async () => {
    const server = await held();
    expect((await holdfast(server, 'locks', '--node', 'n3')).stdout).toBe('Nothing is held or awaited.\n');
    expect((await holdfast(server, 'locks', '--resource', 'si', '--type', 'update')).stdout).toContain(
      'site',
    );
    await server.post('/lock', { ...HELD, resource_id: 'two' });
    expect((await holdfast(server, 'locks', '--limit', '1')).stderr).toContain('There are more');
  });
});

describe('holdfast refs', () => {
  const LAYER = ['--resource', 'layer'];
  const N1 = [...LAYER, '--node', 'n1'];

  it('adds, shows and releases', async () => {
    const server = await TestServer.start();
    const say = async (...args: string[]) => (await holdfast(server, 'refs', ...args)).stdout;
    expect(await say('add', ...N1)).toBe('n1 is counted\nlayer is used by 1 node\n');
    expect(await say('add', ...N1)).toBe('n1 was counted already\nlayer is used by 1 node\n');
    expect(await say('show', ...LAYER)).toMatch(/^layer is used by 1 node\n {2}n1 {2}since 20/);
    expect(await say('release', ...N1)).toBe(
      'n1 is no longer counted\nNobody is counted as a user of layer\n',
    );
    expect(await say('show', ...LAYER)).toBe('Nobody is counted as a user of layer\n');
  });

  it('says so when the node that is released was not counted', async () => {
    const server = await TestServer.start();
    await holdfast(server, 'refs', 'add', ...N1);
    const typo = ['refs', 'release', ...LAYER, '--node', 'n2'];
    expect(await holdfast(server, ...typo)).toEqual({
      code: 0,
      stdout: 'n2 was not counted: nothing was released\nlayer is used by 1 node\n',
      stderr: '',
    });
    expect(json(await holdfast(server, ...typo, '--json'))).toMatchObject({ count: 1, was_counted: false });
  });

  it('tells programs, too', async () => {
    const server = await TestServer.start();
    const tell = async (name: string, ...args: string[]) =>
      json(await holdfast(server, 'refs', name, ...args, '--json'));
    expect(await tell('add', ...N1)).toMatchObject({ count: 1, was_counted: false });
    expect(await tell('show', ...LAYER)).toMatchObject({ count: 1, nodes: [{ node_id: 'n1' }] });
    expect(await tell('release', ...N1)).toMatchObject({ count: 0, was_counted: true });
  });
});

describe('holdfast release', () => {
  it('takes the lock away, and the next is served', async () => {
    const server = await held();
    const answer = await holdfast(server, 'release', ...KEY, '--force', '--yes', '--json');
    expect(answer.code).toBe(0);
    expect(json(answer)).toMatchObject({ released: true, next_holder: 'n2' });
  });

  it.each([
    ['without --force', ['--yes'], 2, 'only with --force'],
    ['where nobody can be asked, without --yes', ['--force'], 2, 'say --yes'],
    ['for another token', ['--force', '--yes', '--token', '1'], 1, 'update site is held by n1 with token '],
  ])('changes nothing %s', async (_, options, code, why) => {
    const server = await held();
    const answer = await holdfast(server, 'release', ...KEY, ...options);
    expect(answer.code).toBe(code);
    expect(answer.stderr).toContain(why);
    expect((await server.get('/locks')).body.locks[0].holder.node_id).toBe('n1');
  });
});

it('holdfast release says so in the same words to people and programs when there is nothing to take away', async () => {
  const server = await held();
  const args = ['release', '--type', 'pull', '--resource', 'free', '--force', '--yes'];
  const message = 'Nobody holds pull free: there is nothing to take away.';
  expect(await holdfast(server, ...args)).toEqual({ code: 1, stdout: '', stderr: `${message}\n` });
  const answer = await holdfast(server, ...args, '--json');
  expect(answer.code).toBe(1);
  expect(json(answer)).toEqual({ error: { code: 'LOCK_NOT_FOUND', message } });
});

describe('holdfast watch', () => {
  it('shows what is held, then what happens, one document a line', async () => {
    const server = await held();
    const watch = start(server, ['watch', '--json']);
    await watch.untilPrints('"snapshot"');
    await server.post('/unlock', { ...HELD, success: true });
    await watch.untilPrints('"completed"');
    const lines = watch.stdout.trim().split('\n');
    const events = lines.map((line) => JSON.parse(line) as { event: string; locks?: unknown[] });
    expect(events[0]).toMatchObject({ locks: [{ resource_id: 'site' }] });
    expect(events.map(({ event }) => event)).toContain('completed');
  });

  it('shows only what is asked for', async () => {
    const server = await held();
    const watch = start(server, ['watch', '--resource', 'other']);
    await until(() => watch.stderr.includes('Watching'), SLOW_MS);
    await server.post('/unlock', { ...HELD, success: true });
    await server.post('/lock', { ...HELD, resource_id: 'other-site' });
    await watch.untilPrints('granted');
    expect(watch.stdout).toMatch(/^[\d:]{8} {2}granted {7}update other-site {2}n1, token \d+\n$/);
  });

  it('follows a server through its restart', async () => {
    const server = await serverProcess();
    const watch = start(server, ['watch', '--json']);
    await watch.untilPrints('"snapshot"');
    await server.end('SIGKILL');
    await server.startAgain();
    await until(() => watch.stdout.split('"snapshot"').length === 3, SLOW_MS);
    await server.post('/lock', HELD);
    await watch.untilPrints('"granted"');
    expect(watch.stderr).toContain('trying again');
  });

  it('exits with 69 when there is no server to begin with', async () => {
    expect(await holdfast(NOWHERE, 'watch')).toMatchObject({ code: 69, stdout: '' });
  });
});

describe('holdfast serve', () => {
  it('starts a server where it is told to, and stops it on SIGTERM', async () => {
    const serve = start(NOWHERE, ['serve', '--port', '0', '--store', 'memory:', '--json']);
    await serve.untilPrints('"url"');
    const { url, state } = JSON.parse(serve.stdout.split('\n')[0]!) as { url: string; state: string };
    expect(state).toBe('memory:');
    expect(await holdfast({ url }, 'status')).toMatchObject({ code: 0 });
    serve.child.kill('SIGTERM');
    await serve.finished;
    expect(await holdfast({ url }, 'status')).toMatchObject({ code: 69 });
  });

  it('says what is wrong with its settings', async () => {
    const { code, stderr } = await holdfast(NOWHERE, 'serve', '--store', 'mysql://x');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('STORE_URL must be') });
  });
});
