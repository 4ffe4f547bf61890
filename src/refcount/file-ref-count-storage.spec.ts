import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FaultyFileSystem, type Step } from '../../test/refcount/faulty-file-system.js';
import { gate } from '../../test/refcount/gate.js';
import { temporaryDirectory } from '../../test/refcount/temporary-directory.js';
import { settled } from '../../test/support/simulated-clock.js';
import { FileRefCountStorage } from './file-ref-count-storage.js';
import { RefCountError } from './ref-count.error.js';
import { referenceCountOf } from './reference-count.js';

const A = referenceCountOf([{ nodeId: 'a', sinceMs: 1 }]);
const B = referenceCountOf([{ nodeId: 'b', sinceMs: 2 }]);

describe('FileRefCountStorage', () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let path: string;
  let fs: FaultyFileSystem;
  let storage: FileRefCountStorage;

  beforeEach(async () => {
    directory = await temporaryDirectory();
    path = join(directory.path, 'refcounts.json');
    fs = new FaultyFileSystem();
    storage = new FileRefCountStorage(path, fs);
  });

  afterEach(() => directory.remove());

  const onDisk = (resourceId: string) => new FileRefCountStorage(path).getRefCount(resourceId);

  it('has a change on disk before it resolves', async () => {
    await storage.setRefCount('layer', A);
    expect(await onDisk('layer')).toEqual(A);
    await storage.deleteRefCount('layer');
    expect(await onDisk('layer')).toBeUndefined();
    expect(await readFile(path, 'utf8')).not.toContain('layer');
  });

  it('does not resolve, nor show the change, while it is not on disk', async () => {
    const rename = gate();
    fs.gate = rename.passed;
    let resolved = false;
    const set = storage.setRefCount('layer', A).then(() => (resolved = true));
    expect(await storage.getRefCount('layer')).toBeUndefined();
    expect(await storage.listByNode('a')).toEqual([]);
    expect(resolved).toBe(false);
    rename.open();
    await set;
    expect(await storage.getRefCount('layer')).toEqual(A);
  });

  it('combines a thousand concurrent changes into a few writes', async () => {
    const layers = Array.from({ length: 1000 }, (_, at) => `layer-${at}`);
    await Promise.all(layers.map((layer) => storage.setRefCount(layer, A)));
    expect(fs.writes).toBeLessThanOrEqual(2);
    expect(await new FileRefCountStorage(path).listByNode('a')).toHaveLength(1000);
  });

  it('lets the later of two changes of one resource win within a group', async () => {
    await Promise.all([
      storage.setRefCount('x', A),
      storage.deleteRefCount('x'),
      storage.setRefCount('x', B),
    ]);
    expect(await storage.getRefCount('x')).toEqual(B);
    expect(await storage.listByNode('a')).toEqual([]);
    expect(await onDisk('x')).toEqual(B);
  });

  it('reads the file once', async () => {
    await Promise.all([storage.open(), storage.getRefCount('x'), storage.setRefCount('x', A)]);
    expect(fs.reads).toEqual(['refcounts.json']);
  });

  it.each<Step>(['write', 'sync file', 'rename', 'sync directory'])(
    'forgets a change it could not %s, and takes later ones',
    async (step) => {
      await storage.setRefCount('layer', A);
      fs.failing = step;
      const failures = [
        storage.setRefCount('layer', B),
        storage.setRefCount('other', B),
        storage.deleteRefCount('gone'),
      ];
      for (const failure of failures) {
        await expect(failure).rejects.toMatchObject({ name: 'RefCountError', code: 'REFCOUNT_UNAVAILABLE' });
      }
      await expect(failures[0]).rejects.toThrow(`${path} failed in setRefCount: ENOSPC`);
      await expect(failures[2]).rejects.toMatchObject({
        operation: 'deleteRefCount',
        cause: { code: 'ENOSPC' },
      });
      expect(await storage.getRefCount('layer')).toEqual(A);
      expect(await storage.listByNode('b')).toEqual([]);

      fs.failing = undefined;
      await storage.setRefCount('third', B);
      expect(await storage.getRefCount('other')).toBeUndefined();
      expect(await onDisk('layer')).toEqual(A);
      expect(await onDisk('other')).toBeUndefined();
      expect(await onDisk('third')).toEqual(B);
    },
  );

  it('goes on with the changes that waited behind a failed write', async () => {
    await storage.open();
    const rename = gate();
    fs.gate = rename.passed;
    fs.failing = 'rename';
    const failed = expect(storage.setRefCount('layer', A)).rejects.toThrow('ENOSPC');
    await settled();
    const waited = storage.setRefCount('other', B);
    rename.open();
    await failed.then(() => (fs.failing = undefined));
    await waited;
    expect(await onDisk('layer')).toBeUndefined();
    expect(await onDisk('other')).toEqual(B);
  });

  it.each([
    ['an empty file', ''],
    ['a half-written file', '{"format":"holdfast-refcounts","version":1,"sha2'],
    ['foreign JSON', '{"name":"holdfast"}'],
    ['a newer version', '{"format":"holdfast-refcounts","version":9,"resources":{}}'],
  ])('refuses %s with a clear error and leaves it as it is', async (_, content) => {
    await writeFile(path, content);
    for (const attempt of [storage.open(), storage.getRefCount('x'), storage.setRefCount('x', A)]) {
      const error: unknown = await attempt.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RefCountError);
      expect(error).toMatchObject({ code: 'REFCOUNT_UNREADABLE', operation: 'open' });
      expect(String(error)).toContain(`Cannot use ${path}`);
    }
    expect(await readFile(path, 'utf8')).toBe(content);
    expect(await readdir(directory.path)).toEqual(['refcounts.json']);
  });

  it('opens after what stopped it was put right', async () => {
    await mkdir(path);
    await expect(storage.open()).rejects.toThrow(`${path} failed in open: EISDIR`);
    await rm(path, { recursive: true });
    await storage.setRefCount('x', A);
    expect(await onDisk('x')).toEqual(A);
  });

  it('cleans up after a crash when it opens', async () => {
    await writeFile(`${path}.11111111-2222-4333-8444-555555555555.holdfast-tmp`, 'half');
    await storage.open();
    expect(await readdir(directory.path)).toEqual([]);
  });

  it('closes when what was under way is on disk, and refuses everything after', async () => {
    const set = storage.setRefCount('x', A);
    await storage.close();
    expect(await onDisk('x')).toEqual(A);
    await set;
    await storage.close();
    for (const attempt of [storage.getRefCount('x'), storage.setRefCount('x', B), storage.listByNode('a')]) {
      await expect(attempt).rejects.toThrow(`${path} is closed`);
    }
    await expect(storage.deleteRefCount('x')).rejects.toBeInstanceOf(RefCountError);
  });
});
