// Two bare HTTP round trips with bodies of the size of a lock's, to hold one lock and its unlock against: through undici, the quickest
// HTTP client that people use, which is what the goal means, and through Node's own. As a program of its own, with a port, it is the
// server.
import { Agent, createServer, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { freePort, start } from './processes.mjs';

const script = fileURLToPath(import.meta.url);

const BODY = JSON.stringify({
  type: 'update',
  resource_id: 'sha256:0',
  node_id: 'bench',
  session_id: 'x'.repeat(22),
});

const parsed = (chunks) => JSON.parse(Buffer.concat(chunks).toString());

function serve(port) {
  const server = createServer((incoming, response) => {
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      const { type } = parsed(chunks);
      const json = JSON.stringify({
        acquired: true,
        skip: false,
        message: type,
        token: 1234567890123,
        lease_ms: 0,
      });
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(json),
      });
      response.end(json);
    });
  });
  server.listen(port, '127.0.0.1', () => console.log('listens'));
}

function byUndici(port) {
  const pool = new Pool(`http://127.0.0.1:${port}`);
  const headers = { 'content-type': 'application/json' };
  return () =>
    new Promise((resolve, reject) => {
      const chunks = [];
      pool.dispatch(
        { method: 'POST', path: '/lock', body: BODY, headers },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData: (_controller, chunk) => chunks.push(chunk),
          onResponseEnd: () => resolve(parsed(chunks)),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
}

function byNode(port) {
  const agent = new Agent({ keepAlive: true });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(BODY) };
  return () =>
    new Promise((resolve, reject) => {
      const asked = request(
        { agent, host: '127.0.0.1', port, method: 'POST', path: '/lock', headers },
        (answer) => {
          const chunks = [];
          answer.on('data', (chunk) => chunks.push(chunk));
          answer.on('end', () => resolve(parsed(chunks)));
        },
      );
      asked.on('error', reject);
      asked.end(BODY);
    });
}

/** The server, and what asks it once, by each of the two HTTP clients. */
export async function startBareHttp() {
  const port = await freePort();
  const server = await start(process.execPath, [script, port], {}, 'listens');
  return { server, asks: { undici: byUndici(port), node: byNode(port) } };
}

if (process.argv[1] === script) serve(Number(process.argv[2]));
