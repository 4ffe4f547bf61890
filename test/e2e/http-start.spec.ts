import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiled } from '../support/compiled.js';
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
    const { name, ...places } = body as Record<string, string>;
    expect(name).toBe('holdfast');
    expect(Object.keys(places)).toEqual(['docs', 'openapi', 'health', 'metrics']);
    for (const path of Object.values(places)) expect((await fetch(server.url + path)).status).toBe(200);
  });

  it('has warned of a variable that is nearly a setting', () => {
    expect(server.output).toContain('LOCK_ISOLATON is no setting and was ignored. Is LOCK_ISOLATION meant?');
  });
});

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
});
