// A load generator on raw sockets, cheap enough that the server is what is measured: each connection sends one prepared
// request, and the next when the whole answer has come. `load(…)` starts it as a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { logFile } from './processes.mjs';
import { percentile } from './support.mjs';

const [SERVER_CORE, LOAD_CORE] = ['0', '1'];

/** Starts a Node program on a core of its own where the system can (Linux, two cores or more). */
function spawnPinned(core, output, script, ...args) {
  const node = [process.execPath, script, ...args];
  const [command, ...rest] = process.platform === 'linux' ? ['taskset', '-c', core, ...node] : node;
  return spawn(command, rest, { stdio: ['ignore', output, 'inherit', 'ipc'] });
}

/**
 * Starts `script args…` on the server's core. It sends its port, answers any message with its `process.cpuUsage()`, and
 * ends with this process. `cpuMs` is the processor time it has had so far.
 */
export async function startServer(script, ...args) {
  const output = openSync(logFile(), 'w');
  const child = spawnPinned(SERVER_CORE, output, script, ...args);
  closeSync(output);
  const [{ port }] = await once(child, 'message');
  const cpuMs = async () => {
    child.send('cpu');
    const [{ user, system }] = await once(child, 'message');
    return (user + system) / 1000;
  };
  return { port, cpuMs, stop: () => child.kill() };
}

/**
 * Requests a second and latencies (ms), from a process on the other core. Each connection sends the requests (`{path, body}`)
 * in turn; `#` in a body is the number of the connection.
 */
export async function load({ port, requests, connections, milliseconds }) {
  const child = spawnPinned(
    LOAD_CORE,
    'pipe',
    fileURLToPath(import.meta.url),
    JSON.stringify({ port, requests, connections, milliseconds }),
  );
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  await once(child, 'close');
  return JSON.parse(text);
}

/** Where the answer ends, or -1 if it is not all there yet; throws on anything but 200. */
function answerEnd(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return -1;
  if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(text);
  const [, length] = /content-length: (\d+)/i.exec(text);
  const end = head + 4 + Number(length);
  return text.length < end ? -1 : end;
}

function ask(port, requests, latencies, isOver) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let sentAt = 0;
    let text = '';
    let turn = 0;
    const send = () => {
      sentAt = performance.now();
      socket.write(requests[turn++ % requests.length]);
    };
    socket.setEncoding('latin1').on('connect', send).on('error', reject).on('close', resolve);
    socket.on('data', (chunk) => {
      text += chunk;
      if (answerEnd(text) < 0) return;
      text = '';
      latencies.push(performance.now() - sentAt);
      if (isOver()) socket.end();
      else send();
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { port, requests, connections, milliseconds } = JSON.parse(process.argv[2]);
  const prepared = (connection) =>
    requests.map(({ path, body }) => {
      const text = body.replaceAll('#', String(connection).padStart(4, '0'));
      return (
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
      );
    });
  const latencies = [];
  const end = performance.now() + milliseconds;
  const isOver = () => performance.now() >= end;
  // It never sleeps: a server that is slower than it would be charged for waking it with every answer, a faster one not.
  const stayAwake = () => void (isOver() || setImmediate(stayAwake));
  stayAwake();
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: connections }, (_, connection) =>
      ask(port, prepared(connection), latencies, isOver),
    ),
  );
  const seconds = (performance.now() - begin) / 1000;
  latencies.sort((a, b) => a - b);
  const result = {
    requests: latencies.length,
    rate: latencies.length / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
  console.log(JSON.stringify(result));
}
