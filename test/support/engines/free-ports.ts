import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** The nodes of a Redis Cluster talk to each other 10,000 ports above, and do not start where there are none. */
const HIGHEST = 55_535;

/** Ports of the loopback that nobody listens on now. */
export async function freePorts(count: number): Promise<number[]> {
  for (;;) {
    const ports = await freeNow(count);
    if (ports.every((port) => port <= HIGHEST)) return ports;
  }
}

/** All are taken before the first is given back. */
async function freeNow(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
