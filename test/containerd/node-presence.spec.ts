import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type LockClientOptions, UnavailableError } from '../../src/client/index.js';
import { ContainerdPlugin } from '../../src/containerd/index.js';
import { NodePresence } from '../../src/containerd/node/node-presence.js';
import { clientOf, proxyOf } from '../client/setup.js';
import { blobOf, directoryOf, isolating } from '../content/setup.js';
import { ContentClient } from '../support/containerd/content-client.js';

const never = new AbortController().signal;

function presenceOf(
  server: { readonly url: string },
  nodeId: string,
  waitMs: number,
  options: Partial<LockClientOptions> = {},
) {
  const said: string[] = [];
  const client = clientOf(server, nodeId, options);
  const presence = new NodePresence(
    client,
    (line) => said.push(line),
    () => said.push('lost'),
    waitMs,
  );
  return { client, presence, said };
}

describe('a node id', () => {
  it('is served by one process: the second is refused, and told why', async () => {
    const server = await isolating({ logLevel: 'error' });
    const [first, second] = [presenceOf(server, 'a', 300), presenceOf(server, 'a', 300)];
    await first.presence.take(never);
    await first.presence.take(never);
    await expect(second.presence.take(never)).rejects.toMatchObject({
      code: 'NODE_TAKEN',
      message: expect.stringContaining('Another process serves node a'),
    });
    expect(first.said).toEqual([]);
    await presenceOf(server, 'b', 300).presence.take(never);
  });

  it('of a process that has died is free when its session is over', async () => {
    const server = await isolating({ logLevel: 'error' });
    const key = { type: 'serve', resource_id: 'containerd-plugin/a', node_id: 'a' };
    await server.lock({ ...key, session_id: await server.session('a', 500) });
    const { presence, said } = presenceOf(server, 'a', 10_000);
    await presence.take(never);
    expect(said).toEqual([expect.stringContaining('if it has died, that is over soon')]);
  });

  it('is had again at once by the process that has lost it, although the server knows it still', async () => {
    const server = await isolating({ logLevel: 'error' });
    const proxy = await proxyOf(server);
    const { presence, said } = presenceOf(proxy, 'a', 300, { sessionTtlMs: 1000 });
    await presence.take(never);
    proxy.modeOf = () => 'half-open';
    proxy.freeze();
    await expect.poll(() => said, { timeout: 5000 }).toEqual(['lost']);
    expect((await server.get('/locks')).body.locks).toMatchObject([{ type: 'serve', held: true }]);
    proxy.modeOf = () => 'pass';
    proxy.cut();
    await Promise.all([presence.take(never), presence.take(never)]);
    expect(said).toEqual(['lost']);
  });

  it('is not waited for by the process that has lost it and could not give it back', async () => {
    const server = await isolating({ logLevel: 'error' });
    const proxy = await proxyOf(server);
    const { client, presence, said } = presenceOf(proxy, 'a', 300, { sessionTtlMs: 1000 });
    await presence.take(never);
    proxy.modeOf = () => 'half-open';
    proxy.freeze();
    await expect.poll(() => said, { timeout: 5000 }).toEqual(['lost']);
    proxy.modeOf = () => 'pass';
    proxy.cut();
    const away = new UnavailableError('UNREACHABLE', 'No answer', { attempts: [] });
    vi.spyOn(client, 'unlock').mockRejectedValueOnce(away);
    await expect(presence.take(never)).rejects.toBe(away);
    await presence.take(never);
    expect(said).toEqual(['lost']);
  });

  it('is waited for: nothing is served before the other is gone, and what that has done is known', async () => {
    const server = await isolating({ logLevel: 'error' });
    const directory = directoryOf();
    const start = (name: string) =>
      ContainerdPlugin.start({
        address: join(directory, name),
        root: join(directory, 'shared'),
        nodeId: 'a',
        serverUrls: [server.url],
        whenUnreachable: 'proceed',
        log: (line) => said.push(line),
      });
    const clientAt = (name: string) => {
      const client = new ContentClient(join(directory, name));
      onTestFinished(() => client.close());
      return client;
    };
    const said: string[] = [];
    const first = await start('one.sock');
    const second = start('two.sock');
    await expect.poll(() => said.at(-1)).toContain('a process that serves node a');
    expect(existsSync(join(directory, 'two.sock'))).toBe(false);
    const { digest, ref, bytes } = blobOf();
    const writing = clientAt('one.sock').write();
    await writing.ask({ action: 0, ref, total: bytes.length });
    await writing.write(0, bytes);
    await writing.commit(bytes.length, digest);
    await first.stop();
    const plugin = await second;
    onTestFinished(() => plugin.stop());
    expect(await clientAt('two.sock').info(digest)).toMatchObject({ digest });
  });
});
