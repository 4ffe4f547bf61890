// Starts the processes of bench/fan-out.mjs: the servers on one core, the crowd on the other, where the system can.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const [SERVER_CORE, CROWD_CORE] = ['0', '1'];

function spawnPinned(core, name, args) {
  const script = fileURLToPath(new URL(name, import.meta.url));
  const node = [process.execPath, '--expose-gc', script, ...args];
  const [command, ...rest] = process.platform === 'linux' ? ['taskset', '-c', core, ...node] : node;
  const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.once('exit', (code) => {
    if (code) throw new Error(`${name} ended with ${code}`);
  });
  return child;
}

async function ask(child, message) {
  child.send(message);
  const [answer] = await once(child, 'message');
  return answer;
}

export async function startServer(...args) {
  const child = spawnPinned(SERVER_CORE, 'servers.mjs', args);
  const [port] = await once(child, 'message');
  return {
    port,
    memory: () => ask(child, 'memory'),
    blocked: () => ask(child, 'blocked'),
    stop: () => child.disconnect(),
  };
}

export function startCrowd() {
  const child = spawnPinned(CROWD_CORE, 'crowd.mjs', []);
  return {
    async order(order, details) {
      const { answer, error } = await ask(child, { order, ...details });
      if (error) throw new Error(error);
      return answer;
    },
    stop: () => child.disconnect(),
  };
}
