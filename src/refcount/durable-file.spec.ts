import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FaultyFileSystem, type Step } from '../../test/refcount/faulty-file-system.js';
import { temporaryDirectory } from '../../test/refcount/temporary-directory.js';
import { DurableFile } from './durable-file.js';

describe('DurableFile', () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let fs: FaultyFileSystem;
  let file: DurableFile;

  beforeEach(async () => {
    directory = await temporaryDirectory();
    fs = new FaultyFileSystem();
    file = new DurableFile(join(directory.path, 'file.json'), fs);
  });

  afterEach(() => directory.remove());

  it('syncs the new content before it takes the name, and the directory after', async () => {
    await file.replace('new');
    expect(fs.steps).toEqual(['write', 'sync file', 'rename', 'sync directory']);
    expect(await file.read()).toBe('new');
  });

  it('has no content where there is no file', async () => {
    expect(await file.read()).toBeUndefined();
  });

  it.each<Step>(['write', 'sync file', 'rename'])(
    'keeps the previous content and leaves nothing behind when it cannot %s',
    async (step) => {
      await file.replace('old');
      fs.failing = step;
      await expect(file.replace('new')).rejects.toThrow('ENOSPC');
      expect(await file.read()).toBe('old');
      expect(await readdir(directory.path)).toEqual(['file.json']);
      fs.failing = undefined;
      await file.replace('newer');
      expect(await file.read()).toBe('newer');
    },
  );

  it('rejects when the directory cannot be synced', async () => {
    fs.failing = 'sync directory';
    await expect(file.replace('new')).rejects.toThrow('ENOSPC');
  });

  it('removes what an interrupted replacement of this file left, and nothing else', async () => {
    const uuid = '11111111-2222-4333-8444-555555555555';
    const others = ['file.json.bak', `other.json.${uuid}.holdfast-tmp`, `file.json.old.${uuid}.holdfast-tmp`];
    for (const name of [...others, 'file.json', `file.json.${uuid}.holdfast-tmp`]) {
      await writeFile(join(directory.path, name), 'half');
    }
    await file.prepare();
    expect((await readdir(directory.path)).sort()).toEqual([...others, 'file.json'].sort());
  });

  it('finds its own leftovers again', async () => {
    fs.rename = async () => {
      const names = await readdir(directory.path);
      await mkdir(join(directory.path, 'kept'));
      for (const name of names) await writeFile(join(directory.path, 'kept', name), 'half');
      throw new Error('the process ends here');
    };
    await expect(file.replace('new')).rejects.toThrow('ends here');
    const restarted = new DurableFile(join(directory.path, 'kept', 'file.json'));
    expect(await readdir(join(directory.path, 'kept'))).toHaveLength(1);
    await restarted.prepare();
    expect(await readdir(join(directory.path, 'kept'))).toEqual([]);
  });

  it('makes the directories it needs and syncs the parent of each', async () => {
    const deep = new DurableFile(join(directory.path, 'a', 'b', 'file.json'), fs);
    await deep.prepare();
    expect(fs.steps).toEqual(['sync directory', 'sync directory']);
    await deep.replace('new');
    expect(await readFile(join(directory.path, 'a', 'b', 'file.json'), 'utf8')).toBe('new');
  });
});
