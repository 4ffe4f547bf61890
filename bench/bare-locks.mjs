// A server that answers `LockClient` as Holdfast would, and does nothing: what is left of a cycle is HTTP, JSON and the client. No server
// of locks can be faster than this one. As a program of its own, with a port, it is that server.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { freePort, start } from './processes.mjs';

const script = fileURLToPath(import.meta.url);
let token = Date.now() * 1000;

const lock = () => ({
  acquired: true,
  skip: false,
  message: 'lock acquired',
  isolation: 'operation',
  token: ++token,
  lease_ms: 0,
  reference_count: 0,
});
const unlock = () => ({ released: true, message: 'lock released' });
const all =
  (answer) =>
  ({ requests }) => ({ results: requests.map(() => ({ ...answer(), status: 200 })) });
const session = () => ({ session_id: 'x'.repeat(22), ttl_ms: 10_000, renewed: true, ended: true });

const ANSWERS = { '/lock': lock, '/unlock': unlock, '/lock/batch': all(lock), '/unlock/batch': all(unlock) };

function serve(port) {
  const server = createServer((incoming, response) => {
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      const answer = ANSWERS[incoming.url] ?? session;
      const json = JSON.stringify(answer(JSON.parse(Buffer.concat(chunks).toString() || '{}')));
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(json),
      });
      response.end(json);
    });
  });
  server.listen(port, '127.0.0.1', () => console.log('listens'));
}

export async function startBareLocks() {
  const port = await freePort();
  const server = await start(process.execPath, [script, port], {}, 'listens');
  return { url: `http://127.0.0.1:${port}`, ...server };
}

if (process.argv[1] === script) serve(Number(process.argv[2]));
