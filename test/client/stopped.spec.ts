import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { clientOf, KEY } from './setup.js';

const TTL_MS = 1000;

it('finds its hold lost when it wakes from a stop that was longer than its time to live', async () => {
  const server = await TestServer.start();
  const program = compiled('test/client/programs/slow-worker.ts');
  const child = spawn(process.execPath, [program, server.url, String(TTL_MS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await until(() => lines.includes('working'), 20_000);
  child.kill('SIGSTOP');
  const { hold } = await clientOf(server, 'next').lock(KEY);
  expect(hold?.isLost).toBe(false);
  await sleep(TTL_MS / 2);
  child.kill('SIGCONT');
  await once(child, 'close');
  expect(lines).toContain('HoldLostError');
  expect(lines).not.toContain('executed');
  expect(hold?.isLost).toBe(false);
});
