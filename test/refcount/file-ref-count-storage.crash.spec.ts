import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FileRefCountStorage } from '../../src/refcount/file-ref-count-storage.js';
import { compiledChild } from './compiled-child.js';
import { BALLAST, countAfter, resourceOf, RESOURCES } from './crash-workload.js';
import { temporaryDirectory } from './temporary-directory.js';

describe('FileRefCountStorage and SIGKILL', () => {
  let child: string;
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;

  beforeAll(async () => {
    child = await compiledChild('test/refcount/crash-child.ts');
  });

  beforeEach(async () => {
    directory = await temporaryDirectory();
  });

  afterEach(() => directory.remove());

  /** Kills the child as it begins to write after so many acknowledgements; answers all that it gave. */
  async function killedAfter(acknowledgements: number, path: string): Promise<number[]> {
    const running = spawn(process.execPath, [child, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(running, 'exit');
    const acknowledged: number[] = [];
    const watcher = watch(directory.path, () => {
      if (acknowledged.length >= acknowledgements) running.kill('SIGKILL');
    });
    for await (const line of createInterface({ input: running.stdout })) acknowledged.push(Number(line));
    watcher.close();
    expect(await exited).toEqual([null, 'SIGKILL']);
    return acknowledged;
  }

  it.each([1, 65, 200, 400])(
    'has every acknowledged change when killed while writing after acknowledgement %i',
    async (acknowledgements) => {
      const path = join(directory.path, 'refcounts.json');
      const acknowledged = await killedAfter(acknowledgements, path);
      expect(acknowledged.length).toBeGreaterThanOrEqual(acknowledgements);

      const storage = new FileRefCountStorage(path);
      await storage.open();
      expect(await readdir(directory.path)).toEqual(['refcounts.json']);
      expect((await storage.getRefCount('ballast'))?.count).toBe(BALLAST.count);
      const newest = new Map(acknowledged.map((change) => [resourceOf(change), change]));
      for (const [resource, change] of newest) {
        // The one after may have reached the disk without its acknowledgement reaching us.
        expect([countAfter(change), countAfter(change + RESOURCES)]).toContainEqual(
          await storage.getRefCount(resource),
        );
      }
    },
  );
});
