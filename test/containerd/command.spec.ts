import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { holdfast, serverProcess, start } from '../cli/setup.js';
import { ServerProcess } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const directory = temporaryDirectory();
const address = join(directory, 'plugin.sock');
const root = join(directory, 'shared');
const args = ['containerd-plugin', '--address', address, '--root', root, '--node', 'a'];

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start({ LOCK_ISOLATION: 'resource', SESSION_TTL_MS: '1000' });
}, 60_000);
afterAll(async () => {
  await server.remove();
  rmSync(directory, { recursive: true, force: true });
});

describe('holdfast containerd-plugin', () => {
  it.each([
    ['no socket', ['containerd-plugin', '--root', root], "'--address <path>' not specified"],
    ['no directory', ['containerd-plugin', '--address', address], "'--root <directory>' not specified"],
    ['an unknown way out', [...args, '--when-unreachable', 'panic'], 'proceed, fail'],
    ['no node', [...args, '--node', ''], 'It must have 1 to 256 characters'],
    ['no server', [...args, '--server', 'nowhere'], 'is not like http://'],
  ])('refuses %s', async (_, wrong, sentence) => {
    const { code, stderr } = await holdfast(server, ...wrong);
    expect(stderr).toContain(sentence);
    expect(code).toBe(2);
  });

  it('refuses a server that isolates by operation, or does not count, and leaves nothing behind', async () => {
    const nowhere = join(directory, 'nowhere');
    const elsewhere = ['--address', join(nowhere, 'run', 'plugin.sock'), '--root', join(nowhere, 'shared')];
    const byOperation = await holdfast(await serverProcess({}), ...args, ...elsewhere);
    expect(byOperation.stderr).toContain('LOCK_ISOLATION=resource');
    expect(byOperation.code).toBe(1);
    const countless = await serverProcess({ LOCK_ISOLATION: 'resource', REFCOUNT_MODE: 'client' });
    expect((await holdfast(countless, ...args, ...elsewhere)).stderr).toContain('REFCOUNT_MODE=server');
    expect(existsSync(nowhere)).toBe(false);
  });

  it('refuses a directory that is a file, and a socket path that is something else', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const badRoot = await holdfast(server, ...args, '--root', file);
    expect([badRoot.code, badRoot.stderr]).toEqual([1, expect.stringContaining('opening the store')]);
    const badSocket = await holdfast(server, ...args, '--address', file);
    expect([badSocket.code, badSocket.stderr]).toEqual([1, expect.stringContaining('is no socket')]);
  });

  it('says so when it makes a new store, and only then', async () => {
    const fresh = [...args, '--root', join(directory, 'not-mounted')];
    for (const said of ['a new one was made. If the nodes share one, it is not mounted here.', undefined]) {
      const plugin = start(server, fresh);
      await plugin.untilPrints('serves containerd');
      if (said) expect(plugin.stderr).toContain(said);
      else expect(plugin.stderr).toBe('');
      plugin.child.kill('SIGTERM');
      await plugin.finished;
    }
  });

  it('makes the directory of its socket', async () => {
    const socket = join(directory, 'run', 'holdfast', 'content.sock');
    const plugin = start(server, [...args, '--address', socket]);
    await plugin.untilPrints('serves containerd');
    expect(existsSync(socket)).toBe(true);
    plugin.child.kill('SIGTERM');
    await plugin.finished;
  });

  it('refuses a socket that is served, replaces one that a dead process has left, and removes its own', async () => {
    const living = start(server, args);
    await living.untilPrints('serves containerd');
    const second = await holdfast(server, ...args);
    expect(second.stderr).toContain('is served by another process');
    living.child.kill('SIGKILL');
    await living.finished;
    expect(existsSync(address)).toBe(true);
    const next = start(server, args);
    await next.untilPrints('serves containerd');
    next.child.kill('SIGTERM');
    expect((await next.finished).code).toBe(0);
    expect(existsSync(address)).toBe(false);
  });

  it('serves although the server refuses connections, and says so', async () => {
    const plugin = start({ url: 'http://127.0.0.1:1' }, args);
    await plugin.untilPrints('serves containerd');
    const why = 'http://127.0.0.1:1/: connect ECONNREFUSED 127.0.0.1:1. It is tried again and again.';
    expect(plugin.stderr).toContain(`Holdfast cannot be reached: ${why}`);
    plugin.child.kill('SIGTERM');
    expect((await plugin.finished).code).toBe(0);
  });

  it('serves although the server answers nothing, and says so', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const plugin = start({ url }, args);
    await plugin.untilPrints('serves containerd');
    const why = `no answer from ${url} within 5000 ms. It is tried again and again.`;
    expect(plugin.stderr).toContain(`Holdfast cannot be reached: ${why}`);
    plugin.child.kill('SIGTERM');
    await plugin.finished;
  });

  it('warns of a containerd configuration that would not use it', async () => {
    const config = join(directory, 'config.toml');
    writeFileSync(config, 'version = 2\n');
    const busy = createServer().listen(address);
    onTestFinished(() => void busy.close());
    const { stderr } = await holdfast(server, ...args, '--containerd-config', config);
    expect(stderr).toContain('add "io.containerd.content.v1.content" to disabled_plugins');
    expect(stderr).toContain('has no [proxy_plugins');
  });
});
