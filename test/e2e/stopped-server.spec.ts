import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';

/** Longer than any turn of the event loop. */
const STOPPED_MS = 1000;

/** A connection over which the server has answered before. */
async function usedConnection({ port }: ServerProcess): Promise<Socket> {
  const socket = await connection(port);
  socket.write('GET /health/live HTTP/1.1\r\nhost: server\r\n\r\n');
  await once(socket, 'data');
  return socket;
}

async function connection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

function ask(socket: Socket, path: string, request: object): void {
  const body = JSON.stringify(request);
  const head = `POST ${path} HTTP/1.1\r\nhost: server\r\ncontent-type: application/json`;
  socket.write(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

const lockOf = (resource_id: string) => ({ type: 'pull', resource_id, node_id: 'n1' });

describe('A server that was stopped', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
  }, START_TIMEOUT_MS);
  afterAll(() => server.remove());

  it('does nothing for whoever has given up meanwhile, and everything for whoever still waits', async () => {
    const [first, second, waiting] = await Promise.all([1, 2, 3].map(() => usedConnection(server)));
    server.signal('SIGSTOP');
    ask(first!, '/lock', lockOf('given-up'));
    ask(second!, '/lock/batch', { requests: [lockOf('given-up-in-a-batch')] });
    const newcomer = await connection(server.port);
    ask(newcomer, '/lock', lockOf('given-up-by-a-newcomer'));
    ask(waiting!, '/lock', lockOf('awaited'));
    await sleep(STOPPED_MS / 2);
    first!.destroy();
    second!.destroy();
    newcomer.resetAndDestroy();
    await sleep(STOPPED_MS / 2);
    const answer = once(waiting!, 'data');
    server.signal('SIGCONT');
    expect(String(await answer)).toContain('"acquired":true');
    waiting!.destroy();
    const { locks } = (await server.get('/locks')).body as { locks: { resource_id: string }[] };
    expect(locks.map(({ resource_id }) => resource_id)).toEqual(['awaited']);
  });
});
