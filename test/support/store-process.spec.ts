import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { StoreProcess } from './store-process.js';
import { temporaryDirectory } from './temporary-directory.js';

it.each([
  ['as it is', {}],
  ['with limits', { fileBlocks: 65_536, addressBlocks: 64 * 1024 * 1024 }],
])(
  'a process %s runs nothing but the store: no start-up files of a shell, whatever those may do',
  async (_how, limits) => {
    const home = temporaryDirectory();
    const trace = join(home, 'ran');
    for (const name of ['.bashrc', 'start-up']) writeFileSync(join(home, name), `touch '${trace}'\n`);
    const env = { HOME: home, SHLVL: '0', BASH_ENV: join(home, 'start-up') };
    const child = new StoreProcess(join(home, 'state'), { ...limits, env });
    onTestFinished(() => child.kill());
    expect(await child.tell({ do: 'open' })).toBeNull();
    expect(existsSync(trace)).toBe(false);
  },
);
