import { onTestFinished } from 'vitest';
import { LockClient, type LockClientOptions } from '../../src/client/index.js';
import { type Behaviour, FakeServer } from '../support/fake-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { TestServer, until } from '../support/server-bootstrap.js';

/** All of these end with the test. */

export function clientOf(
  server: { readonly url: string },
  nodeId = 'n1',
  options: Partial<LockClientOptions> = {},
): LockClient {
  const client = new LockClient({ serverUrl: server.url, nodeId, retryIntervalMs: 20, ...options });
  onTestFinished(() => client.close());
  return client;
}

export async function proxyOf(server: { readonly port: number }): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(server.port);
  onTestFinished(() => proxy.close());
  return proxy;
}

export async function fakeServer(behaviour: Behaviour): Promise<FakeServer> {
  const server = await FakeServer.start(behaviour);
  onTestFinished(() => server.close());
  return server;
}

export async function locksOf(server: TestServer): Promise<{ held: boolean; queue_length: number }[]> {
  return (await server.get('/locks')).body.locks;
}

/** Nothing is held or awaited. */
export function untilEmpty(server: TestServer): Promise<void> {
  return until(async () => (await locksOf(server)).length === 0);
}

export function untilQueued(server: TestServer, length: number): Promise<void> {
  return until(async () => (await locksOf(server)).some(({ queue_length }) => queue_length === length));
}

export const isStream = (line: string) => line.startsWith('GET /sessions/');

export const KEY = { type: 'update', resourceId: 'layer' };
