// Thousands of readers of event streams on raw sockets, in a process of its own (`startCrowd` of processes.mjs). It does what
// it is told, one message after the other, and answers each.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';

/** Connections that are being opened at a time: a server's backlog is finite. */
const AT_ONCE = 200;

/** As many as one batch takes. */
const BATCH = 256;

/** Longer than a round. */
const SESSION_TTL_MS = 600_000;

const agent = new Agent({ keepAlive: true });

/** Names for `#`: of sessions, or numbers. */
let names = [];
let streams = [];
let told = 0;
let allTold = () => undefined;

/** Every socket reads into this: what was read is looked at before the next one reads. */
const buffer = Buffer.alloc(64 * 1024);

function openOne(port, path) {
  return new Promise((resolve, reject) => {
    let isOpen = false;
    const callback = (length, { buffer: bytes }) => {
      const text = Buffer.from(bytes, 0, length);
      if (text.includes('event: completed') && ++told === streams.length) allTold();
      if (isOpen) return true;
      if (!text.includes('HTTP/1.1 200')) reject(new Error(text.toString()));
      isOpen = true;
      resolve(socket);
      return true;
    };
    const socket = connect({ port, host: '127.0.0.1', onread: { buffer, callback } });
    socket.once('error', reject);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`);
  });
}

const post = (port, path, body) => call('POST', port, path, body);

async function call(method, port, path, body) {
  const sent = request({ port, host: '127.0.0.1', path, method, agent });
  sent.setHeader('content-type', 'application/json').end(body && JSON.stringify(body));
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  if (response.statusCode !== 200) throw new Error(text);
  return JSON.parse(text);
}

const orders = {
  /** Opens a session for each of this many nodes; to be ended with `endSessions`. */
  async openSessions({ port, count }) {
    names = [];
    for (let next = 0; next < count; next++) {
      const session = { node_id: `node-${next}`, ttl_ms: SESSION_TTL_MS };
      names.push((await post(port, '/sessions', session)).session_id);
    }
  },

  async endSessions({ port }) {
    for (const name of names) await call('DELETE', port, `/sessions/${name}`);
    names = [];
  },

  /** `#` in the path is the session, or else the number, of the stream. */
  async open({ port, path, count }) {
    const begin = performance.now();
    streams = [];
    told = 0;
    for (let next = 0; next < count; next += AT_ONCE) {
      const group = Array.from({ length: Math.min(AT_ONCE, count - next) }, (_, index) =>
        openOne(port, path.replace('#', names[next + index] ?? next + index)),
      );
      streams.push(...(await Promise.all(group)));
    }
    return performance.now() - begin;
  },

  /** Asks for the key in the name of this many nodes, all of whom must be queued. */
  async queue({ port, key, count }) {
    const begin = performance.now();
    for (let next = 0; next < count; next += BATCH) {
      const requests = Array.from({ length: Math.min(BATCH, count - next) }, (_, index) => ({
        ...key,
        node_id: `node-${next + index}`,
        session_id: names[next + index],
      }));
      const { results } = await post(port, '/lock/batch', { requests });
      if (results.some(({ position }) => position === undefined)) throw new Error('not queued');
    }
    return performance.now() - begin;
  },

  post: ({ port, path, body }) => post(port, path, body),

  /** Posts, and answers how long it took until the last stream was told. */
  async tell({ port, path, body }) {
    const everyone = new Promise((resolve) => (allTold = resolve));
    const begin = performance.now();
    const answered = post(port, path, body);
    await everyone;
    const last = performance.now() - begin;
    await answered;
    return last;
  },

  async close() {
    const closed = streams.map((socket) => once(socket, 'close'));
    for (const socket of streams) socket.destroy();
    await Promise.all(closed);
  },
};

process.on('message', ({ order, ...details }) => {
  orders[order](details).then(
    (answer) => process.send({ answer }),
    (error) => process.send({ error: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
