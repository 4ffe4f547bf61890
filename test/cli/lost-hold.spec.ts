import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { until } from '../support/server-bootstrap.js';
import { type ServerProcess } from '../support/server-process.js';
import { proxyOf } from '../client/setup.js';
import { Diary, eventsOf, holdfast, json, serverProcess, SLOW_MS, start } from './setup.js';

const TTL_MS = 2000;
const KEY = ['--type', 'update', '--resource', 'site'];
const TIMES = ['--session-ttl', String(TTL_MS), '--kill-after', '400'];
const RUN = ['run', ...KEY, ...TIMES];

/** Says when it is told to stop, and does. */
function worker(diary: Diary): string[] {
  return ['sh', '-c', `trap "${diary.write('told')}; exit 0" TERM; echo $$; while :; do sleep 0.05; done`];
}

/** Does not, and has a child that does not either: the child says that it lives. */
function stubbornWorker(diary: Diary): string[] {
  const child = `trap '' TERM; while :; do sleep 0.05; ${diary.write('beat')}; done`;
  const script = `trap "${diary.write('told')}" TERM; (${child}) & echo $$; while :; do sleep 0.05; done`;
  return ['sh', '-c', script];
}

/** What another node writes as soon as it has the lock. */
function next(diary: Diary): string[] {
  return [...RUN, '--node', 'next', '--', 'sh', '-c', diary.write('next')];
}

async function untilQueued(server: ServerProcess): Promise<void> {
  await until(
    async () => JSON.stringify((await server.get('/locks')).body).includes('"queue_length":1'),
    SLOW_MS,
  );
}

function isRunning(pid: string): boolean {
  try {
    return !/\bZ\b/.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/, ''));
  } catch {
    return false;
  }
}

describe('when the hold is lost, holdfast run', () => {
  it('stops the command before the server gives the lock away, although the server is only cut off', async () => {
    const server = await serverProcess();
    const proxy = await proxyOf(server);
    const diary = new Diary();
    const run = start(proxy, [...RUN, '--node', 'n1', '--json', '--', ...worker(diary)]);
    await until(() => run.stderr !== '', SLOW_MS);
    const follower = start(server, next(diary));
    await untilQueued(server);
    proxy.modeOf = () => 'half-open';
    proxy.freeze();
    const result = await run.finished;
    expect(result.code).toBe(70);
    expect(json(result)).toMatchObject({ status: 'lost' });
    expect(await follower.finished).toMatchObject({ code: 0 });
    expect(diary.words).toEqual(['told', 'next']);
  });

  it('kills what does not stop, children included, before the next begins', async () => {
    const server = await serverProcess();
    const proxy = await proxyOf(server);
    const diary = new Diary();
    const run = start(proxy, [...RUN, '--node', 'n1', '--', ...stubbornWorker(diary)]);
    await diary.untilHas('beat');
    const follower = start(server, next(diary));
    await untilQueued(server);
    proxy.modeOf = () => 'half-open';
    proxy.freeze();
    expect((await run.finished).code).toBe(70);
    await follower.finished;
    await sleep(200);
    const afterTold = diary.words.slice(diary.words.indexOf('told'));
    expect(afterTold).toContain('beat');
    expect(afterTold.at(-1)).toBe('next');
    expect(isRunning(run.stdout.trim())).toBe(false);
  });

  it('stops the command when the lock is taken by force, and says why it was', async () => {
    const server = await serverProcess();
    const diary = new Diary();
    const run = start(server, [...RUN, '--', ...worker(diary)]);
    await until(() => run.stdout !== '', SLOW_MS);
    const take = ['release', ...KEY, '--force', '--yes', '--reason', 'make room'];
    expect(await holdfast(server, ...take)).toMatchObject({ code: 0 });
    const { code, stderr } = await run.finished;
    expect(code).toBe(70);
    expect(stderr).toContain('released by force: make room');
    expect(diary.words).toEqual(['told']);
  });

  it('stops the command and reports no success after it was stopped itself for too long', async () => {
    const server = await serverProcess();
    const events = await eventsOf(server);
    const diary = new Diary();
    const run = start(server, [...RUN, '--node', 'n1', '--', ...worker(diary)]);
    await until(() => run.stdout !== '', SLOW_MS);
    run.child.kill('SIGSTOP');
    const follower = start(server, next(diary));
    await follower.finished;
    run.child.kill('SIGCONT');
    expect((await run.finished).code).toBe(70);
    expect(diary.words).toEqual(['next', 'told']);
    const ends = events.stdout.split('\n').filter((line) => /"event":"(completed|expired)"/.test(line));
    expect(ends.map((line) => /"node_id":"(\w+)"/.exec(line)![1])).toEqual(['n1', 'next']);
  });

  it('stops the command when the server is away for longer than the session lives', async () => {
    const server = await serverProcess({ STORE_URL: 'file:' });
    const diary = new Diary();
    const run = start(server, [...RUN, '--', ...worker(diary)]);
    await until(() => run.stdout !== '', SLOW_MS);
    await server.end('SIGKILL');
    expect((await run.finished).code).toBe(70);
    expect(diary.words).toEqual(['told']);
  });
});

describe('when holdfast run is killed', () => {
  it('its command is stopped, and then the lock passes to the next', async () => {
    const server = await serverProcess();
    const diary = new Diary();
    const run = start(server, [...RUN, '--node', 'n1', '--', ...stubbornWorker(diary)]);
    await diary.untilHas('beat');
    const follower = start(server, next(diary));
    await untilQueued(server);
    run.child.kill('SIGKILL');
    expect(await follower.finished).toMatchObject({ code: 0 });
    await sleep(200);
    expect(diary.words.at(-1)).toBe('next');
    expect(diary.words).toContain('told');
    expect(isRunning(run.stdout.trim())).toBe(false);
  });
});
