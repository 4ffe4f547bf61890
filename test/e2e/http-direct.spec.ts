import { describe, expect, it, vi } from 'vitest';
import { type ServerAdapter } from '../../src/server-adapter.js';
import { TestServer } from '../support/server-bootstrap.js';

const CASES: readonly (readonly [string, object | string])[] = [
  ['/lock', { type: 'pull', resource_id: 'r', node_id: 'n' }],
  ['/lock', { type: 'pull', resource_id: '', node_id: 7 }],
  ['/lock', '{"type":'],
  ['/lock', '[]'],
  ['/lock', `"${'x'.repeat(70_000)}"`],
  ['/unlock', { type: 'pull', resource_id: 'nobody holds it', node_id: 'n' }],
  ['/lock/batch', { requests: [{ type: 'pull', resource_id: 'b', node_id: 'n' }, {}] }],
  ['/sessions', { node_id: '' }],
];

/** What differs between any two answers. */
function comparable({ status, headers, text }: { status: number; headers: object; text: string }) {
  const { date: _date, 'x-request-id': id, ...others } = headers as Record<string, string>;
  return { status, others, id: typeof id, text: text.replace(/\d{16}/g, 'TOKEN') };
}

describe('requests that go to their controller without a search', () => {
  it.each(CASES)('%s is answered as when Express has searched for it: %j', async (path, body) => {
    const server = await TestServer.start();
    const direct = await server.call('POST', path, body);
    const again = await TestServer.start();
    const searched = await again.call('POST', `${path}?`, body);
    expect(comparable(direct)).toEqual(comparable(searched));
  });

  it('are those to a path as it is written here', async () => {
    const server = await TestServer.start();
    const search = vi.spyOn(server.app.getHttpAdapter().getInstance().router, 'handle');
    for (const [path, body] of CASES) await server.call('POST', path, body);
    expect(search).not.toHaveBeenCalled();
    for (const path of ['/lock?', '/LOCK', '/lock/']) await server.call('POST', path, {});
    expect(search).toHaveBeenCalledTimes(3);
  });

  it('are searched for where the application has hooks', async () => {
    const server = await TestServer.start();
    const seen: unknown[] = [];
    const adapter = server.app.getHttpAdapter() as unknown as ServerAdapter;
    adapter.setOnResponseHook((request: { url: string }) => void seen.push(request.url));
    await server.lock();
    expect(seen).toEqual(['/lock']);
  });
});
