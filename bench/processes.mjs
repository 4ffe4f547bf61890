// Programs beside the benchmark: started on a core of their own, with the processor time they have used.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

process.setMaxListeners(64); // some for each program that ends with this one

const isLinux = process.platform === 'linux';
const [SERVER_CORE, CLIENT_CORE] = ['0', '1'];

/** Linux counts processor time in hundredths of a second, whatever the machine. */
const TICK_US = 10_000;

/** Keeps this process off the core of the programs that it starts. */
export function leaveServerCore() {
  if (isLinux) spawnSync('taskset', ['-cp', CLIENT_CORE, String(process.pid)]);
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}

/** Where a program logs to, until this one ends: through a pipe, whoever measures would pay for reading it. */
export function logFile() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'log');
}

/** Starts a program on the server's core, for as long as this one runs; `ready` is in the line that says it listens. */
export async function start(command, args, env, ready) {
  const pinned = isLinux ? ['taskset', '-c', SERVER_CORE, command, ...args] : [command, ...args];
  const log = logFile();
  const output = openSync(log, 'w');
  const child = spawn(pinned[0], pinned.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, 'inherit'],
  });
  closeSync(output);
  process.once('exit', () => child.kill('SIGKILL'));
  while (!readFileSync(log, 'utf8').includes(ready)) {
    if (child.exitCode !== null) throw new Error(`${command} did not start`);
    await sleep(20);
  }
  return { usedUs: () => (isLinux ? usedUs(child.pid) : NaN) };
}

/** Fields 14 and 15 of `stat`, counted from behind the name, which may have spaces. */
function usedUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}
