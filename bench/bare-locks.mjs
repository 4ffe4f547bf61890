// A server that answers `LockClient` as Holdfast would, and does nothing: what is left of a cycle is HTTP, JSON and the client. No server
// of locks can be faster than this one. Given a file, it writes as many bytes to the disk before each answer as records would take: no
// server whose answers are on disk can be faster than that. As a program of its own, with a port, it is that server.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { wholeBlocks } from '../dist/stores/lmdb/blocks.js';
import { JournalFile } from '../dist/stores/lmdb/journal-file.js';
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

const BYTES_OF_RECORD = 256;
const REWIND_AT_BYTES = 8 * 1024 * 1024;

/** One write after the other, each returning when it is on disk, over and over in the same place. */
function writerTo(path) {
  const file = new JournalFile(path);
  let last = Promise.resolve();
  const append = async (bytes) => {
    if (file.bytes >= REWIND_AT_BYTES) file.rewind();
    const { status } = await file.append(bytes);
    if (status !== 'written') throw new Error(`cannot write to ${path}`);
  };
  return ({ requests = [undefined] }) => {
    const bytes = Buffer.alloc(wholeBlocks(requests.length * BYTES_OF_RECORD), 1);
    return (last = last.then(() => append(bytes)));
  };
}

function reply(response, answer) {
  const json = JSON.stringify(answer);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
  });
  response.end(json);
}

function serve(port, path) {
  const write = path === undefined ? undefined : writerTo(path);
  const server = createServer((incoming, response) => {
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      const answer = ANSWERS[incoming.url] ?? session;
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}');
      if (!write || answer === session) reply(response, answer(body));
      else void write(body).then(() => reply(response, answer(body)));
    });
  });
  server.listen(port, '127.0.0.1', () => console.log('listens'));
}

/** `file`: which is to be made, and written to before each answer. */
export async function startBareLocks(file) {
  const port = await freePort();
  const server = await start(process.execPath, [script, port, ...(file ? [file] : [])], {}, 'listens');
  return { url: `http://127.0.0.1:${port}`, ...server };
}

if (process.argv[1] === script) serve(Number(process.argv[2]), process.argv[3]);
