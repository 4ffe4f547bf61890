import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { Certificates } from '../support/engines/certificates.js';
import { answer } from '../support/raw-http-server.js';
import { until } from '../support/server-bootstrap.js';
import { ask, poolOf, rawServer } from './http-setup.js';

/** Much longer than a process needs that has nothing more to do. */
const STAYS_MS = 500;

function asker(url: string, paths: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [compiled('test/client/programs/http-asker.ts'), url, ...paths], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { text: '' };
  child.stdout.on('data', (data) => (said.text += String(data)));
  const ended = once(child, 'close').then(([code]) => ({ code, lines: said.text.trim().split('\n') }));
  return { child, said, ended };
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a process that has closed nothing', () => {
  it('ends when it has its answers, although the server keeps the connection', async () => {
    const server = await rawServer((_request, peer) => peer.say(answer('hello', 'keep-alive: timeout=600')));
    const { code, lines } = await asker(server.url, ['/1', '/2']).ended;
    expect(code).toBe(0);
    expect(lines).toContain(`/2 200 ${hashOf('hello')}`);
    expect(server.peers).toHaveLength(1);
  });

  it.each([
    ['waits for an answer', ''],
    ['is in the middle of one', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n'],
  ])('stays while it %s, also on a connection that was idle', async (_, beginning) => {
    const server = await rawServer(({ nth }, peer) => peer.say(nth === 1 ? answer('') : beginning));
    const { child, said, ended } = asker(server.url, ['/1', '/2']);
    await until(() => said.text.includes('/2 asked'), 20_000);
    await sleep(STAYS_MS);
    expect(child.exitCode).toBeNull();
    server.peers[0]!.socket.end();
    expect(await ended).toMatchObject({ code: 0 });
    expect(said.text).toContain('/2 the connection was closed before the answer was complete');
  });
});

describe('a server behind TLS', () => {
  const large = 'Grüße, 汉字, 😀\n'.repeat(20_000);
  let certificates: Certificates;
  let server: Server;
  let url: string;
  let connections = 0;

  beforeAll(async () => {
    certificates = new Certificates();
    const key = readFileSync(certificates.key);
    const cert = readFileSync(certificates.cert);
    server = createServer({ key, cert }, ({ url: path }, response) => {
      if (path === '/large') response.end(large);
      else if (path === '/pieces') {
        const bytes = Buffer.from(large);
        for (let at = 0; at < bytes.length; at += 5003) response.write(bytes.subarray(at, at + 5003));
        response.end();
      } else if (path !== '/never') response.end('small');
    }).listen(0, '127.0.0.1');
    server.on('secureConnection', () => connections++);
    await once(server, 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
    certificates.destroy();
  });

  it('is heard as any other, on one connection, and does not keep the process', async () => {
    connections = 0;
    const paths = ['/', '/large', '/pieces', '/large', '/'];
    const { code, lines } = await asker(url, paths, { NODE_EXTRA_CA_CERTS: certificates.ca }).ended;
    expect(code).toBe(0);
    expect(lines.filter((line) => !line.endsWith('asked'))).toEqual(
      paths.map((path) => `${path} 200 ${hashOf(path === '/' ? 'small' : large)}`),
    );
    expect(connections).toBe(1);
  });

  it('keeps the process that waits for its answer', async () => {
    const { child, said, ended } = asker(url, ['/', '/never'], { NODE_EXTRA_CA_CERTS: certificates.ca });
    await until(() => said.text.includes('/never asked'), 20_000);
    await sleep(STAYS_MS);
    expect(child.exitCode).toBeNull();
    server.closeAllConnections();
    expect((await ended).code).toBe(0);
  });

  it('is refused when nobody vouches for it, or for another name', async () => {
    expect(await ask(poolOf({ url })).failure).toMatchObject({
      code: expect.stringMatching(/CERT|SIGNATURE/),
    });
    const { lines } = await asker(url.replace('127.0.0.1', 'localhost'), ['/'], {
      NODE_EXTRA_CA_CERTS: certificates.ca,
    }).ended;
    expect(lines.at(-1)).toBe('/ ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('does not understand http, and is not understood', async () => {
    expect(await ask(poolOf({ url: url.replace('https', 'http') })).failure).toBeInstanceOf(Error);
    const plain = await rawServer((_request, peer) => peer.say(answer('')));
    plain.onConnection = (peer) => peer.say('HTTP/1.1 400 Bad Request\r\n\r\n');
    const asked = ask(poolOf({ url: plain.url.replace('http', 'https') }));
    expect(await asked.failure).toMatchObject({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' });
  });
});
