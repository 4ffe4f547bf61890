import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DirectoryRefCountStorage, RefCountManager } from '../../src/content/index.js';
import { type ContentFileSystem, realFileSystem } from '../../src/content/store/file-system.js';
import { compiled } from '../support/compiled.js';
import { until } from '../support/server-bootstrap.js';
import { FaultyDisk } from './faulty-disk.js';
import { directoryOf } from './setup.js';

const LAYER = 'layer';

class CountingNode {
  output = '';
  private readonly child: ChildProcess;

  constructor(directory: string, name: string) {
    const program = compiled('test/content/programs/counting-node.ts');
    this.child = spawn(process.execPath, [program, directory, name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.child.stdout!.on('data', (data: Buffer) => (this.output += data.toString()));
  }

  get lines(): string[] {
    return this.output.split('\n').slice(0, -1);
  }

  async kill(): Promise<void> {
    const gone = once(this.child, 'close');
    this.child.kill('SIGKILL');
    await gone;
  }

  /** By node: the last that was said of it. */
  get said(): Map<string, string> {
    return new Map(this.lines.map((line) => [line.slice(2), line[0]!]));
  }
}

it('loses nothing that was acknowledged when three processes share it and are killed', async () => {
  const directory = directoryOf();
  const nodes = ['a', 'b', 'c'].map((name) => new CountingNode(directory, name));
  for (const [at, node] of nodes.entries()) {
    await until(() => node.lines.length > 30 + 10 * at, 60_000);
    await node.kill();
  }
  const manager = new RefCountManager(new DirectoryRefCountStorage(directory));
  const counted = new Set((await manager.getRefCount(LAYER)).nodes.map(({ nodeId }) => nodeId));
  const said = nodes.flatMap((node) => [...node.said]);
  expect(said.filter(([nodeId, last]) => last === '+' && !counted.has(nodeId))).toEqual([]);
  expect(said.filter(([nodeId, last]) => last === '-' && counted.has(nodeId))).toEqual([]);
  expect(counted.size).toBeGreaterThan(20);
  await manager.updateRefCount('pull', LAYER, { nodeId: 'afterwards', success: true });
  expect((await manager.getRefCount(LAYER)).nodes.at(-1)?.nodeId).toBe('afterwards');
});

it('shows nodes in the order in which they came, though the clock stands still or goes back', async () => {
  const times = [2000, 2000, 1000, 3000];
  const storage = new DirectoryRefCountStorage(directoryOf(), undefined, () => times.shift()!);
  for (const nodeId of ['d', 'b', 'c', 'a']) await storage.addNode(LAYER, { nodeId });
  const { nodes } = (await storage.getRefCount(LAYER))!;
  expect(nodes.map(({ nodeId }) => nodeId)).toEqual(['d', 'b', 'c', 'a']);
});

it('reports a file it cannot understand, and leaves it', async () => {
  const directory = directoryOf();
  const storage = new DirectoryRefCountStorage(directory);
  await storage.addNode(LAYER, { nodeId: 'a' });
  const resource = (await readdir(directory)).find((name) => name !== 'tmp');
  const path = join(directory, resource!, 'f'.repeat(64));
  await writeFile(path, '{"format":"holdfast-ref');
  await expect(storage.getRefCount(LAYER)).rejects.toMatchObject({ code: 'REFCOUNT_UNREADABLE' });
  await expect(storage.getRefCount(LAYER)).rejects.toThrow(path);
  expect(await readdir(join(directory, resource!))).toContain('f'.repeat(64));
});

it('clears away what a killed process has left half-written, and not what another is writing', async () => {
  const directory = directoryOf();
  await new DirectoryRefCountStorage(directory).getRefCount(LAYER);
  const [old, young] = ['old', 'young'].map((name) => join(directory, 'tmp', name));
  await writeFile(old!, 'half');
  await writeFile(young!, 'half');
  const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
  await utimes(old!, longAgo, longAgo);
  await new DirectoryRefCountStorage(directory).getRefCount(LAYER);
  expect(await readdir(join(directory, 'tmp'))).toEqual(['young']);
});

it('tells the age of what was left by the clock of the file system, which may be hours behind ours', async () => {
  const directory = directoryOf();
  await new DirectoryRefCountStorage(directory).getRefCount(LAYER);
  await writeFile(join(directory, 'tmp', 'young'), 'half');
  const behind: ContentFileSystem = {
    ...realFileSystem,
    async open(path, flags) {
      const file = await realFileSystem.open(path, flags);
      const { size, mtimeMs } = await file.stat();
      return Object.assign(file, { stat: async () => ({ size, mtimeMs: mtimeMs - 2 * 60 * 60 * 1000 }) });
    },
  };
  await new DirectoryRefCountStorage(directory, behind).getRefCount(LAYER);
  expect(await readdir(join(directory, 'tmp'))).toEqual(['young']);
});

it('has a reference on disk before it is acknowledged: synced, named, directory synced', async () => {
  const directory = directoryOf();
  const disk = new FaultyDisk();
  const storage = new DirectoryRefCountStorage(directory, disk);
  await storage.addNode(LAYER, { nodeId: 'a', sinceMs: 1 });
  await disk.powerCut();
  expect(await new DirectoryRefCountStorage(directory).getRefCount(LAYER)).toMatchObject({
    nodes: [{ nodeId: 'a', sinceMs: 1 }],
  });
});

it('says why when the disk is full, and counts nobody', async () => {
  const directory = directoryOf();
  const disk = new FaultyDisk();
  const storage = new DirectoryRefCountStorage(directory, disk);
  disk.failWrites('ENOSPC');
  await expect(storage.addNode(LAYER, { nodeId: 'a' })).rejects.toMatchObject({
    code: 'REFCOUNT_UNAVAILABLE',
    operation: 'addNode',
  });
  disk.failWrites(undefined);
  expect(await storage.getRefCount(LAYER)).toBeUndefined();
  await storage.addNode(LAYER, { nodeId: 'a' });
  expect((await storage.getRefCount(LAYER))?.count).toBe(1);
});
