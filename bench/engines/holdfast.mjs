// The compiled server in processes of their own, all over one engine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts } from './engines.mjs';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const POLL_MS = 50;

async function startOne(port, environment) {
  const env = { ...process.env, ...environment, PORT: String(port) };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('Holdfast did not start');
    await delay(POLL_MS);
  }
  return {
    url,
    stop: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** What they log goes nowhere, and costs what it costs. */
export async function startInstances(count, environment) {
  const ports = await freePorts(count);
  const servers = await Promise.all(ports.map((port) => startOne(port, environment)));
  return {
    urls: servers.map(({ url }) => url),
    stop: () => Promise.all(servers.map(({ stop }) => stop())),
  };
}
