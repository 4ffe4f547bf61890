import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Below those that systems give to whoever asks for any port, and to connections that go out: an engine that is stopped finds its port
 * free when it starts again. The nodes of a Redis Cluster talk to each other 10,000 above, which is below them, too.
 */
const [LOWEST, BEYOND] = [10_000, 22_000];

/** Ports of the loopback that nobody listens on now. */
export async function freePorts(count: number): Promise<number[]> {
  const taken = new Map<number, Server>();
  while (taken.size < count) {
    const port = randomInt(LOWEST, BEYOND);
    const server = taken.has(port) ? undefined : await listening(port);
    if (server) taken.set(port, server);
  }
  await Promise.all(Array.from(taken.values(), (server) => once(server.close(), 'close')));
  return [...taken.keys()];
}

/** `undefined`: somebody else does. */
async function listening(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}
