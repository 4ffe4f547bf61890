import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { freePorts } from '../support/engines/free-ports.js';
import { RedisServer } from '../support/engines/redis-server.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';

let server: ServerProcess;
beforeAll(
  async () => void (server = await ServerProcess.start({ LOCK_ISOLATON: 'resource' })),
  START_TIMEOUT_MS,
);
afterAll(() => server?.remove());

describe('The server that has started', () => {
  it('answers at its root where everything is, and everything is there', async () => {
    const { status, body } = await server.get('/');
    expect(status).toBe(200);
    const { name, version, ...places } = body as Record<string, string>;
    expect([name, version]).toEqual(['holdfast', JSON.parse(readFileSync('package.json', 'utf8')).version]);
    expect(Object.keys(places)).toEqual(['docs', 'openapi', 'health', 'live', 'metrics']);
    for (const path of Object.values(places)) expect((await fetch(server.url + path)).status).toBe(200);
  });

  it('has warned of a variable that is nearly a setting', () => {
    expect(server.output).toContain('LOCK_ISOLATON is no setting and was ignored. Is LOCK_ISOLATION meant?');
  });
});

it(
  'says that others can reach it where they can',
  async () => {
    const open = await ServerProcess.start({ HOST: '0.0.0.0' });
    onTestFinished(() => open.remove());
    expect(open.output).toMatch(
      /^Holdfast listens on http:\/\/127\.0\.0\.1:\d+, at every address of this machine$/m,
    );
    expect(server.output).toMatch(/^Holdfast listens on http:\/\/127\.0\.0\.1:\d+$/m);
  },
  START_TIMEOUT_MS,
);

describe('The server that cannot start', () => {
  it('says in one line that its port is taken, and nothing else', () => {
    const env = { PATH: process.env['PATH'], PORT: String(server.port), STORE_URL: 'memory:' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [compiled('src/main.ts')], {
      env,
      encoding: 'utf8',
    });
    const said = `Holdfast cannot start. Port ${server.port} is taken: stop what listens there, or set PORT.\n`;
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: said });
  });

  it('ends although it has reached its engine', async () => {
    const redis = await RedisServer.start();
    onTestFinished(() => redis.destroy());
    const args = ['serve', '--port', String(server.port), '--store', redis.url, '--json'];
    const { status, stdout } = spawnSync(process.execPath, [compiled('src/cli/main.ts'), ...args], {
      env: { PATH: process.env['PATH'] },
      encoding: 'utf8',
      timeout: START_TIMEOUT_MS,
    });
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.stringContaining('is taken') } });
  });

  it('says which setting names a host that there is not', () => {
    const env = { PATH: process.env['PATH'], HOST: 'nowhere.invalid', PORT: '0', STORE_URL: 'memory:' };
    const { status, stderr } = spawnSync(process.execPath, [compiled('src/main.ts')], {
      env,
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Holdfast cannot start. HOST is nowhere.invalid, for which no address is found/);
  });

  it.each(['redis', 'etcd'])('says that its engine is away, and ends at once, with %s', async (engine) => {
    const [port] = await freePorts(1);
    const args = [compiled('src/cli/main.ts'), 'serve', '--store', `${engine}://127.0.0.1:${port}`];
    const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] } });
    const ended = once(child, 'exit');
    const [said] = (await once(child.stderr, 'data')) as [Buffer];
    const saidMs = Date.now();
    expect(said.toString()).toMatch(/^Holdfast cannot start\. .*ECONNREFUSED/);
    expect(await ended).toEqual([1, null]);
    expect(Date.now() - saidMs).toBeLessThan(1000);
  });
});
