import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { compiled } from '../support/compiled.js';
import { TestServer } from '../support/server-bootstrap.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('examples/run-once.mjs pulls the layer on one node and skips it on the others', async () => {
  const server = await TestServer.start();
  const client = pathToFileURL(compiled('src/client/index.ts')).href;
  const program = join(temporaryDirectory(), 'run-once.mjs');
  writeFileSync(program, readFileSync('examples/run-once.mjs', 'utf8').replace('holdfast/client', client));
  const env = { ...process.env, HOLDFAST_URL: server.url };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  const lines = stdout.trim().split('\n').toSorted();
  expect(lines).toHaveLength(3);
  expect(lines.filter((line) => /^node-\d: pulled with token \d+$/.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /^node-\d: skipped/.test(line))).toHaveLength(2);
});
