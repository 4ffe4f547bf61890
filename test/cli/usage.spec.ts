import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { holdfast, json, NOWHERE } from './setup.js';

const KEY = ['--type', 'update', '--resource', 'site'];

describe('holdfast', () => {
  it.each([
    [[]],
    [['frobnicate']],
    [['run', '--type', 'pull', '--', 'true']],
    [['run', ...KEY]],
    [['run', ...KEY, '--node', '', '--', 'true']],
    [['containerd-plugin', '--address', 'a', '--root', 'b', '--node', 'n'.repeat(257)]],
    [['run', ...KEY, '--on-skip', '256', '--', 'true']],
    [['run', ...KEY, '--kill-after', '500', '--session-ttl', '2000', '--', 'true']],
    [['status', '--server', 'ftp://x']],
    [['locks', '--limit', 'many']],
    [['refs', 'show']],
    [['release', ...KEY, '--force']],
  ])('exits with 2 and runs nothing for %j', async (args: string[]) => {
    const answer = await holdfast(NOWHERE, ...args);
    expect(answer).toMatchObject({ code: 2, stdout: '' });
    expect(answer.stderr).not.toBe('');
  });

  it('says what is wrong with https where http is spoken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await holdfast({ url }, 'locks');
    expect(answer.code).toBe(69);
    expect(answer.stderr).toContain('(it does not speak TLS: is http:// meant?)');
  });

  it.each([
    'http://user:secret@127.0.0.1:1',
    'http://127.0.0.1:1,https://user:secret@127.0.0.1:1',
    'http://user:secret@127.0.0.1:99999',
    'ftp://user:secret@127.0.0.1',
  ])('refuses %s without showing the password', async (url) => {
    const answers = [
      await holdfast(NOWHERE, 'locks', '--server', url, '--json'),
      await holdfast({ url }, 'watch', '--json'),
    ];
    for (const answer of answers) {
      expect(answer.code).toBe(2);
      expect(json(answer)).toMatchObject({ error: { code: 'USAGE' } });
      expect(answer.stderr).toContain('…@127.0.0.1');
      expect(answer.stdout + answer.stderr).not.toContain('secret');
    }
  });

  it('tells programs what was wrong, too', async () => {
    expect(json(await holdfast(NOWHERE, 'locks', '--frobnicate', '--json'))).toEqual({
      error: { code: 'USAGE', message: "unknown option '--frobnicate'" },
    });
  });

  it('tells programs that nobody can be asked', async () => {
    expect(json(await holdfast(NOWHERE, 'release', ...KEY, '--force', '--json'))).toMatchObject({
      error: { code: 'USAGE', message: expect.stringContaining('say --yes') },
    });
  });

  it('shows examples in the help of every command, and its exit codes', async () => {
    const help = await holdfast(NOWHERE, '--help');
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes:') });
    const commands = [
      'serve',
      'run',
      'status',
      'locks',
      'watch',
      'refs',
      'release',
      'containerd-plugin',
      'demo',
    ];
    for (const command of commands) {
      expect(help.stdout).toContain(`\n  ${command} `);
      expect((await holdfast(NOWHERE, command, '--help')).stdout).toContain(`Examples:\n  $ `);
    }
  });

  it.each([
    [['run'], ['--type', '--resource']],
    [['release'], ['--type', '--resource', '--force']],
    [['refs', 'show'], ['--resource']],
    [['refs', 'add'], ['--resource']],
    [['refs', 'release'], ['--resource']],
    [['containerd-plugin'], ['--address', '--root']],
    [['status'], []],
  ])('marks in the help of %j what cannot be left out', async (command, required) => {
    const { stdout } = await holdfast(NOWHERE, ...command, '--help');
    const options = stdout.split(/\n(?= {2}-|\n)/).map((text) => text.trim().replace(/\s+/g, ' '));
    const marked = options.filter((text) => text.endsWith('(required)'));
    expect(marked.map((text) => text.split(' ')[0])).toEqual(required);
  });

  it('says in the help of run how to ask without queueing', async () => {
    const { stdout } = await holdfast(NOWHERE, 'run', '--help');
    expect(stdout.replace(/\s+/g, ' ')).toContain('0: ask once and do not queue');
  });

  it('knows its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect((await holdfast(NOWHERE, '--version')).stdout).toBe(`${version}\n`);
  });
});
