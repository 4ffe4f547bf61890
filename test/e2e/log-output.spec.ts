import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { freePorts } from '../support/engines/free-ports.js';
import { START_TIMEOUT_MS } from '../support/server-process.js';
import { until } from '../support/server-bootstrap.js';

/** SIGTERM has to end it within this. */
const END_MS = 5000;

/** A server whose log goes there; it says nothing itself of where it listens. */
async function startWith(
  output: 'pipe' | number,
): Promise<{ url: string; child: ChildProcess; said: () => string }> {
  const [port] = await freePorts(1);
  const env = { PATH: process.env['PATH'], PORT: String(port), STORE_URL: 'memory:' };
  const child = spawn(process.execPath, [compiled('src/main.ts')], {
    env,
    stdio: ['ignore', output, 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200);
  return { url, child, said: () => said };
}

async function lockMany(url: string, batches: number): Promise<void> {
  for (let n = 0; n < batches; n++) {
    const requests = Array.from({ length: 256 }, (_, i) => ({
      type: 'update',
      resource_id: `layer-${n}-${i}-${'x'.repeat(400)}`,
      node_id: 'n'.repeat(200),
    }));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/lock/batch`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ requests }),
    });
    expect(response.status).toBe(200);
  }
}

async function endsBySigterm(child: ChildProcess): Promise<boolean> {
  const ended = once(child, 'exit').then(() => true);
  child.kill('SIGTERM');
  return Promise.race([ended, sleep(END_MS, false)]);
}

it(
  'A server whose log cannot be written serves, says so on standard error, and ends when it is told to',
  async () => {
    const full = openSync('/dev/full', 'w');
    const { url, child, said } = await startWith(full);
    closeSync(full);
    await lockMany(url, 2);
    await until(async () => said().includes('Lines of the log are lost: ENOSPC'));
    await lockMany(url, 2);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(await endsBySigterm(child)).toBe(true);
    expect(said().match(/are lost/g)).toHaveLength(1);
  },
  START_TIMEOUT_MS,
);

it(
  'A server whose log nobody reads serves, and ends when it is told to',
  async () => {
    const { url, child } = await startWith('pipe');
    await lockMany(url, 4);
    await sleep(300); // the log is passed on after 200 ms
    await lockMany(url, 4);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(await endsBySigterm(child)).toBe(true);
  },
  START_TIMEOUT_MS,
);
