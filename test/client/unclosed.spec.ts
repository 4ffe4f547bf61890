import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { TestServer } from '../support/server-bootstrap.js';
import { clientOf, KEY, untilQueued } from './setup.js';

function program(server: TestServer, resourceId: string) {
  const path = compiled('test/client/programs/unclosed-client.ts');
  const child = spawn(process.execPath, [path, server.url, resourceId], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { text: '' };
  child.stdout.on('data', (data) => (said.text += String(data)));
  return { child, said, closed: once(child, 'close') };
}

it('a client that nobody closes, and that has nothing under way, lets its process end', async () => {
  const { said, closed } = program(await TestServer.start(), 'free');
  expect(await closed).toEqual([0, null]);
  expect(said.text).toBe('asking\nlock released\n');
});

it('a client that waits keeps its process until it is granted', async () => {
  const server = await TestServer.start();
  const holder = clientOf(server);
  const { hold } = await holder.lock(KEY);
  const { child, said } = program(server, KEY.resourceId);
  await untilQueued(server, 1);
  await sleep(500);
  expect(child.exitCode).toBeNull();
  await holder.unlock(hold!, { success: false, error: 'try it yourself' });
  await expect.poll(() => said.text, { timeout: 10_000 }).toBe('asking\nlock released\n');
});
