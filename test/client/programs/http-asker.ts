// Asks a server for one path after the other, on as many connections as it takes, prints what came, and closes nothing.
import { createHash } from 'node:crypto';
import { SystemClock } from '../../../src/client/clock.js';
import { HttpPool } from '../../../src/client/http/http-pool.js';

const [url = '', ...paths] = process.argv.slice(2);
const pool = new HttpPool(new URL(url), new SystemClock());

function ask(path: string): Promise<string> {
  return new Promise((resolve) => {
    const hash = createHash('sha256');
    let status = 0;
    const listener = {
      onHead: (head: { status: number }) => (status = head.status),
      onData: (bytes: Buffer) => hash.update(bytes),
      onEnd: () => resolve(`${path} ${status} ${hash.digest('hex')}`),
      onError: (cause: Error & { code?: string }) => resolve(`${path} ${cause.code ?? cause.message}`),
    };
    pool.send({ method: 'GET', path }, listener);
    console.log(`${path} asked`);
  });
}

for (const path of paths) console.log(await ask(path));
