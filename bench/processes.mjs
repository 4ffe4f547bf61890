// Programs beside the benchmark: started on a core of their own, with the processor time they have used.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

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

/** Starts a program on the server's core, for as long as this one runs; `ready` is in the line that says it listens. */
export async function start(command, args, env, ready) {
  const pinned = isLinux ? ['taskset', '-c', SERVER_CORE, command, ...args] : [command, ...args];
  const child = spawn(pinned[0], pinned.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  await new Promise((resolve, reject) => {
    lines.on('line', (line) => line.includes(ready) && resolve());
    child.once('exit', () => reject(new Error(`${command} did not start`)));
  });
  lines.close();
  child.stdout.resume();
  return { usedUs: () => (isLinux ? usedUs(child.pid) : NaN) };
}

/** Fields 14 and 15 of `stat`, counted from behind the name, which may have spaces. */
function usedUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}
