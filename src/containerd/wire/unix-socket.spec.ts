import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clearSocket, SocketError } from './unix-socket.js';

const SERVER = `require('net').createServer().listen({ path: process.argv[1], backlog: 1 }, () => console.log('up'))`;

let directory: string;
let path: string;
let server: ChildProcess | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-socket-'));
  path = join(directory, 'below', 'one.sock');
});
afterEach(() => {
  server?.kill('SIGKILL');
  server = undefined;
  rmSync(directory, { recursive: true, force: true });
});

async function serve(): Promise<ChildProcess> {
  server = spawn(process.execPath, ['-e', SERVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout!, 'data');
  return server;
}

/** Connects until no more are let in, which is at once where nobody takes them. */
async function crowd(): Promise<void> {
  for (;;) {
    const socket = connect(path);
    const refusal = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      socket.once('connect', () => resolve(undefined));
      socket.once('error', resolve);
    });
    if (refusal) return expect(refusal.code).toBe('EAGAIN');
  }
}

it('makes the directory of a socket', async () => {
  await clearSocket(path);
  expect(existsSync(join(directory, 'below'))).toBe(true);
});

it('removes what a dead process has left', async () => {
  await clearSocket(path);
  const dying = await serve();
  dying.kill('SIGKILL');
  await once(dying, 'exit');
  expect(existsSync(path)).toBe(true);
  await clearSocket(path);
  expect(existsSync(path)).toBe(false);
});

it('leaves a living one alone, also one that hangs while many wait for it', async () => {
  await clearSocket(path);
  const living = await serve();
  await expect(clearSocket(path)).rejects.toThrow(SocketError);
  living.kill('SIGSTOP');
  await crowd();
  await expect(clearSocket(path)).rejects.toThrow(SocketError);
  expect(existsSync(path)).toBe(true);
});

it('leaves what is no socket alone', async () => {
  await clearSocket(path);
  writeFileSync(path, 'mine');
  await expect(clearSocket(path)).rejects.toThrow(SocketError);
});
