import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serverProcess, start } from '../cli/setup.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const CONFIG = 'config/containerd/config.toml';
const SOCKET = '/run/holdfast/content.sock';

const unit = readFileSync('config/containerd/holdfast-containerd-plugin.service', 'utf8');
const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)![1]!;

describe('the systemd unit of the plugin', () => {
  it('starts it: its command line, with places of our own', async () => {
    const directory = temporaryDirectory();
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const places: Record<string, string> = {
      [SOCKET]: join(directory, 'content.sock'),
      '${HOLDFAST_ROOT}': join(directory, 'shared'),
      '%H': 'a',
      '/etc/containerd/config.toml': CONFIG,
    };
    const [program, ...args] = setting('ExecStart').split(' ');
    expect(program).toBe('/usr/local/bin/holdfast');
    const plugin = start(
      await serverProcess({ LOCK_ISOLATION: 'resource' }),
      args.map((word) => places[word] ?? word),
    );
    await plugin.untilPrints('serves containerd');
    plugin.child.kill('SIGTERM');
    expect((await plugin.finished).code).toBe(0);
  });

  it('makes, waits for and serves the socket that the sample configuration names', () => {
    expect(readFileSync(CONFIG, 'utf8')).toContain(`address = "${SOCKET}"`);
    expect(SOCKET).toContain(`/run/${setting('RuntimeDirectory')}/`);
    expect(setting('ExecStartPost')).toContain(`[ -S ${SOCKET} ]`);
    expect(setting('ExecStartPre')).toBe('/usr/bin/test -d ${HOLDFAST_ROOT}/blobs');
    expect(setting('ExecStart')).toContain(`--address ${SOCKET}`);
  });
});
