import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { type INestApplication } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HoldfastModule } from '../../src/holdfast.module.js';
import { LoggingModule } from '../../src/logging/logging.module.js';
import { createServer } from '../../src/server.js';

const run = promisify(execFile);

/** The commands of the README's console blocks, each with what it is said to print. */
const commands = [...readFileSync('README.md', 'utf8').matchAll(/```console\n(.*?)```/gs)].flatMap(
  ([, block]) =>
    block!
      .split(/^\$ /m)
      .slice(1)
      .map((entry) => {
        const [command, ...output] = entry.trimEnd().split('\n');
        return { command: command!, output: output.join('\n') };
      }),
);

/** Without what differs from run to run: tokens, tickets, sessions, ids, times. */
function lasting(text: string): string {
  return text
    .replace(/"(ticket|session_id)":"[^"]+"/g, '"$1":"…"')
    .replace(/^id: \d+\.\d+$/gm, 'id: …')
    .replace(/"token":\d+/g, '"token":…')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…');
}

describe('the walk through the README', () => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const holdfast = HoldfastModule.forRoot({ settings: { storeUrl: 'memory:', logLevel: 'silent' } });
    app = await createServer({ module: class Root {}, imports: [holdfast, LoggingModule] });
    await app.listen(0, '127.0.0.1');
    url = (await app.getUrl()).replace('http://', '');
  });

  afterAll(() => app.close());

  it('prints what it says', async () => {
    expect(commands.length).toBeGreaterThan(15);
    const printed = await runAll(commands.map(({ command }) => command.replaceAll('localhost:8086', url)));
    for (const [index, { command, output }] of commands.entries()) {
      expect(lasting(printed[index]!), command).toBe(lasting(output));
    }
  });
});

/** What each prints, in one shell, as somebody would type them who walks through. */
async function runAll(script: readonly string[]): Promise<string[]> {
  const { stdout } = await run('bash', [
    '-c',
    script.map((command) => `${command}\necho ${MARK}\n`).join(''),
  ]);
  return stdout.split(`${MARK}\n`).map((part) => part.trimEnd());
}

const MARK = '=== end of output ===';
