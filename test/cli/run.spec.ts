import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GRANTED } from '../support/fake-server.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { type SseReader } from '../support/server-sse.js';
import { fakeServer, proxyOf } from '../client/setup.js';
import { Diary, holdfast, json, NOWHERE, SLOW_MS, start } from './setup.js';

const KEY = ['--type', 'update', '--resource', 'site'];
const PULL = ['--type', 'pull', '--resource', 'layer'];

async function firstLock(server: TestServer): Promise<{ held: boolean; queue_length: number } | undefined> {
  return (await server.get('/locks')).body.locks[0];
}

async function nextEvent(stream: SseReader, name: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { event, json: data } = await stream.nextEvent();
    if (event === name) return data;
  }
}

describe('holdfast run', () => {
  it('runs the command and reports its success', async () => {
    const server = await TestServer.start();
    const run = await holdfast(server, 'run', ...PULL, '--node', 'n1', '--', 'echo', 'hello', '--json');
    expect(run).toEqual({ code: 0, stdout: 'hello --json\n', stderr: '' });
    expect((await server.get('/refcounts?resource_id=layer')).body.nodes).toMatchObject([{ node_id: 'n1' }]);
  });

  it('gives the command its token, type and resource', async () => {
    const server = await TestServer.start();
    const script = 'echo $HOLDFAST_TYPE $HOLDFAST_RESOURCE $HOLDFAST_TOKEN';
    const { stdout, stderr } = await holdfast(server, 'run', ...KEY, '--json', '--', 'sh', '-c', script);
    const { token, ...rest } = JSON.parse(stdout) as { token: number };
    expect(rest).toMatchObject({ status: 'executed', exit_code: 0, type: 'update', resource_id: 'site' });
    expect(stderr).toBe(`update site ${token}\n`);
  });

  it.each([
    ['exit 3', 3, 'exited with 3'],
    ['kill -KILL $$', 137, 'killed by SIGKILL'],
  ])('after "%s" exits with %i and reports a failure', async (script, code, error) => {
    const server = await TestServer.start();
    const events = await server.stream('/events');
    const run = await holdfast(server, 'run', ...KEY, '--', 'sh', '-c', script);
    expect(run).toMatchObject({ code, stderr: `update site failed: ${error}\n` });
    expect(await nextEvent(events, 'released')).toMatchObject({ success: false, error });
    expect(json(await holdfast(server, 'run', ...KEY, '--json', '--', 'sh', '-c', script))).toMatchObject({
      status: 'failed',
      exit_code: code,
      error,
    });
  });

  it.each([
    ['/nowhere/to/be/found', 127, 'was not found'],
    ['/etc/passwd', 126, 'could not be started'],
  ])('when %s cannot be started exits with %i and gives the lock back', async (command, code, why) => {
    const server = await TestServer.start();
    const run = await holdfast(server, 'run', ...KEY, '--', command);
    expect(run).toMatchObject({ code, stderr: expect.stringContaining(why) });
    expect((await server.get('/locks')).body.locks).toEqual([]);
  });

  it('skips what another node has done, and says who and when', async () => {
    const server = await TestServer.start();
    await holdfast(server, 'run', ...PULL, '--node', 'n1', '--', 'true');
    const skipped = await holdfast(server, 'run', ...PULL, '--node', 'n2', '--', 'echo', 'never');
    expect(skipped).toMatchObject({ code: 0, stdout: '' });
    expect(skipped.stderr).toMatch(/^Skipped pull layer: done by n1 at 20\d\d-.*Z \(\d+ s ago\)\n$/);
    const again = await holdfast(server, 'run', ...PULL, '--on-skip', '42', '--json', '--', 'echo', 'never');
    expect(again.code).toBe(42);
    expect(json(again)).toMatchObject({ status: 'skipped', done_by: 'n1', exit_code: 42 });
  });

  it('runs a pull that others have when told that the bytes are absent', async () => {
    const server = await TestServer.start();
    await holdfast(server, 'run', ...PULL, '--node', 'n1', '--', 'true');
    const run = await holdfast(server, 'run', ...PULL, '--absent', '--', 'echo', 'fetched');
    expect(run.stdout).toBe('fetched\n');
  });

  it('executes once what two run at once; the other waits and skips', async () => {
    const server = await TestServer.start();
    const diary = new Diary();
    const script = `${diary.write('begun')}; sleep 0.5; ${diary.write('done')}`;
    const args = [...KEY, '--json', '--', 'sh', '-c', script];
    const runs = ['n1', 'n2'].map((node) => holdfast(server, 'run', '--node', node, ...args));
    const results = (await Promise.all(runs)).map((run) => json(run));
    expect(results.map(({ status }) => status).toSorted()).toEqual(['executed', 'skipped']);
    const [worker, other] = results.toSorted((a) => (a['status'] === 'executed' ? -1 : 1));
    expect(other).toMatchObject({ done_by: worker!['node_id'], completed_at: expect.stringMatching(/^20/) });
    expect(diary.words).toEqual(['begun', 'done']);
  });

  it('exits with 75 when the wait is over', async () => {
    const server = await TestServer.start();
    await server.post('/lock', { type: 'update', resource_id: 'site', node_id: 'other' });
    const run = await holdfast(server, 'run', ...KEY, '--wait', '200', '--json', '--', 'echo', 'never');
    expect(run.code).toBe(75);
    const message =
      /^update site was not granted within 200 ms: held by other for \d s; the queue was left\.$/;
    expect(json(run)).toEqual({ error: { code: 'WAIT_TIMEOUT', message: expect.stringMatching(message) } });
    expect((await server.get('/locks')).body.locks).toMatchObject([{ queue_length: 0 }]);
  });

  it('says for whom it waits', async () => {
    const server = await TestServer.start();
    await server.post('/lock', { type: 'update', resource_id: 'site', node_id: 'other' });
    const run = start(server, ['run', ...KEY, '--', 'echo', 'mine']);
    await until(() => run.stderr !== '', SLOW_MS);
    await server.post('/unlock', { type: 'update', resource_id: 'site', node_id: 'other', error: 'no' });
    const { code, stderr } = await run.finished;
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Waiting for update site: held by other for \d+ s, position 1\n$/);
  });

  it('exits with 1 when it is refused', async () => {
    const server = await TestServer.start();
    await server.post('/refcounts/add', { resource_id: 'layer', node_id: 'n9' });
    const run = await holdfast(server, 'run', '--type', 'delete', '--resource', 'layer', '--', 'true');
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('In use by 1 node') });
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on to the command', async (signal) => {
    const server = await TestServer.start();
    const name = signal.slice(3);
    const script = `trap 'echo got ${name}; exit 7' ${name}; echo ready; while :; do sleep 0.05; done`;
    const run = start(server, ['run', ...KEY, '--', 'sh', '-c', script]);
    await run.untilPrints('ready');
    run.child.kill(signal);
    expect(await run.finished).toMatchObject({ code: 7, stdout: `ready\ngot ${name}\n` });
  });

  it('leaves the queue when it is interrupted while it waits', async () => {
    const server = await TestServer.start();
    await server.post('/lock', { type: 'update', resource_id: 'site', node_id: 'other' });
    const run = start(server, ['run', ...KEY, '--', 'echo', 'never']);
    await until(async () => (await firstLock(server))?.queue_length === 1, SLOW_MS);
    run.child.kill('SIGINT');
    expect(await run.finished).toMatchObject({ code: 130, stdout: '' });
    expect((await firstLock(server))?.queue_length).toBe(0);
  });

  it('can be interrupted while it reports to a server that does not answer', async () => {
    const server = await TestServer.start();
    const proxy = await proxyOf(server);
    const diary = new Diary();
    const script = `echo ready; until [ -s '${diary.path}' ]; do sleep 0.05; done`;
    const run = start(proxy, ['run', ...KEY, '--', 'sh', '-c', script]);
    await run.untilPrints('ready');
    proxy.modeOf = () => 'half-open';
    proxy.freeze();
    const before = proxy.requests.length;
    writeFileSync(diary.path, 'go');
    await until(() => proxy.requests.slice(before).some((line) => line.startsWith('POST /unlock')), SLOW_MS);
    run.child.kill('SIGINT');
    const { code, stderr } = await run.finished;
    expect(code).toBe(130);
    expect(stderr).toBe(
      'The command succeeded, but that could not be reported.\n' +
        'Interrupted by SIGINT before the outcome of the command was reported.\n',
    );
  });

  it('tells programs that the command has succeeded where that could not be reported', async () => {
    const server = await fakeServer(({ path }) => {
      if (path === '/lock') return { body: { ...GRANTED, lease_ms: 0 } };
      return path === '/unlock' ? { status: 507, body: { code: 'FULL', message: 'full' } } : undefined;
    });
    const { code, stdout, stderr } = await holdfast(server, 'run', '--json', ...KEY, '--', 'true');
    expect(code).toBe(69);
    expect(stderr).toBe('The command succeeded, but that could not be reported.\nfull\n');
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'update',
      status: 'unreported',
      token: GRANTED.token,
      error: { code: 'FULL', message: 'The command succeeded, but that could not be reported.\nfull' },
    });
  });

  it('does not wait long for who did what it skips', async () => {
    const server = await fakeServer(({ path }) =>
      path === '/lock' ? { body: { acquired: false, skip: true, message: 'done already' } } : undefined,
    );
    const run = await holdfast(server, 'run', ...PULL, '--on-skip', '3', '--', 'true');
    expect(run).toMatchObject({ code: 3, stderr: 'Skipped pull layer: done already\n' });
  });

  it('hands over to the next when the command fails', async () => {
    const server = await TestServer.start();
    const script = 'trap "exit 1" TERM; while :; do sleep 0.05; done';
    const first = start(server, ['run', ...KEY, '--node', 'n1', '--', 'sh', '-c', script]);
    await until(async () => (await firstLock(server))?.held === true, SLOW_MS);
    const second = start(server, ['run', ...KEY, '--node', 'n2', '--', 'echo', 'mine']);
    await until(async () => (await firstLock(server))?.queue_length === 1, SLOW_MS);
    first.child.kill('SIGTERM');
    expect(await first.finished).toMatchObject({ code: 1 });
    expect(await second.finished).toMatchObject({ code: 0, stdout: 'mine\n' });
  });

  it('says which server does not answer, and how to start one', async () => {
    const run = await holdfast(NOWHERE, 'locks');
    expect(run).toMatchObject({ code: 69, stdout: '' });
    expect(run.stderr).toContain('http://127.0.0.1:1/');
    expect(run.stderr).toContain('holdfast serve');
  });
});
