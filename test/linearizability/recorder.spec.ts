import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestServer } from '../support/server-bootstrap.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { readDump, Recorder } from './recorder.js';

const KEY = { resource: 'r', type: 'pull', node: 'n' };
const LOCK = { do: 'lock', ...KEY } as const;
const SUCCESS = { do: 'unlock', ...KEY, success: true, error: '', fatal: false } as const;

function recorder(timeoutMs?: number): Recorder {
  const made = new Recorder(7, timeoutMs);
  onTestFinished(() => made.close());
  return made;
}

async function serverThat(
  answers: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; server: Server }> {
  const server = createServer(answers).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('a recorder', () => {
  it('writes down what a server answers', async () => {
    const { url } = await TestServer.start();
    const record = recorder();
    const grant = await record.ask('c', url, LOCK);
    const token = grant?.is === 'acquired' ? grant.token : undefined;
    expect(token).toBeGreaterThan(0);
    expect(await record.ask('d', url, { ...LOCK, node: 'm' })).toMatchObject({ is: 'queued', position: 1 });
    expect(await record.ask('c', url, { do: 'renew', ...KEY, token })).toEqual({ is: 'renewed', token });
    expect(await record.ask('c', url, { do: 'status', ...KEY })).toEqual({
      is: 'status',
      acquired: true,
      completed: false,
      success: false,
      holder: 'n',
      token,
      position: 0,
      waiting: 1,
      references: 0,
    });
    expect(await record.ask('c', url, SUCCESS)).toEqual({ is: 'released', next: undefined });
    expect(await record.ask('d', url, { ...LOCK, node: 'm' })).toEqual({ is: 'skip', references: 2 });
    const references = { do: 'references', resource: 'r' } as const;
    expect(await record.ask('d', url, references)).toEqual({ is: 'references', nodes: ['m', 'n'] });
    expect(await record.ask('c', url, SUCCESS)).toEqual({ is: 'released', next: undefined });
    expect(await record.ask('d', url, { ...SUCCESS, node: 'm' })).toEqual({
      is: 'refused',
      code: 'LOCK_NOT_FOUND',
    });
    expect(record.history).toHaveLength(9);
    expect(record.history.every((operation) => operation.return! >= operation.call)).toBe(true);
  });

  it('knows nothing of what was broken off, failed inside or took too long', async () => {
    const { url } = await serverThat((request, response) => {
      if (request.url === '/lock') request.socket.destroy();
      if (request.url === '/unlock') response.writeHead(503).end('{}');
    });
    const record = recorder(50);
    expect(await record.ask('c', url, LOCK)).toBeUndefined();
    expect(await record.ask('c', url, SUCCESS)).toBeUndefined();
    expect(await record.ask('c', url, { do: 'renew', ...KEY })).toBeUndefined();
    expect(record.history).toMatchObject([LOCK, SUCCESS, { do: 'renew' }].map((input) => ({ input })));
    expect(record.history.map((operation) => operation.return)).toEqual([undefined, undefined, undefined]);
    record.gone('http://another');
    expect(record.history[0]?.return).toBeUndefined();
    const underWay = record.ask('c', url, { do: 'renew', ...KEY });
    record.gone(url);
    await underWay;
    const [ended, , , endedLate] = record.history;
    expect(ended?.return).toBeGreaterThan(0);
    expect(endedLate?.return).toBe(ended?.return);
  });

  it('leaves out what nobody heard', async () => {
    const { url, server } = await serverThat(() => undefined);
    server.close();
    await once(server, 'close');
    const record = recorder();
    expect(await record.ask('c', url, LOCK)).toBeUndefined();
    expect(record.history).toEqual([]);
  });

  it('keeps it for later, with the seed', async () => {
    const { url } = await TestServer.start();
    const record = recorder();
    await record.ask('c', url, LOCK);
    const directory = temporaryDirectory();
    onTestFinished(() => rmSync(directory, { recursive: true }));
    record.dump(join(directory, 'history.jsonl'));
    const dump = readDump(readFileSync(join(directory, 'history.jsonl'), 'utf8'));
    expect(dump).toEqual({ seed: 7, history: record.history });
  });
});
