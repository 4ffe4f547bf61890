import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLOCK } from '../../src/common/clock.interface.js';
import { FileRefCountStorage } from '../../src/refcount/file-ref-count-storage.js';
import { MemoryRefCountStorage } from '../../src/refcount/memory-ref-count-storage.js';
import { RefCountManager } from '../../src/refcount/ref-count-manager.js';
import {
  REF_COUNT_STORAGE,
  type RefCountStorage,
  type ReferenceCount,
} from '../../src/refcount/ref-count-storage.interface.js';
import { RefCountModule } from '../../src/refcount/ref-count.module.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { temporaryDirectory } from './temporary-directory.js';

/** What a user's storage might need: a database, here a map. */
@Injectable()
class Database {
  readonly rows = new Map<string, ReferenceCount>();
}

/** A user's own storage, made by Nest, with a dependency of its own and without `listByNode`. */
@Injectable()
class DatabaseRefCountStorage implements RefCountStorage {
  constructor(@Inject(Database) private readonly database: Database) {}

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    return this.database.rows.get(resourceId);
  }

  async setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void> {
    this.database.rows.set(resourceId, refCount);
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    this.database.rows.delete(resourceId);
  }
}

@Module({ providers: [Database, DatabaseRefCountStorage], exports: [Database, DatabaseRefCountStorage] })
class DatabaseModule {}

@Injectable()
class Consumer {
  constructor(
    @Inject(REF_COUNT_STORAGE) readonly storage: RefCountStorage | undefined,
    @Inject(RefCountManager) readonly manager: RefCountManager | undefined,
  ) {}
}

const compile = (...imports: NonNullable<ModuleMetadata['imports']>) =>
  Test.createTestingModule({ imports, providers: [Consumer] }).compile();

async function expectCountedIn(rows: Map<string, ReferenceCount>, app: TestingModule): Promise<void> {
  await app.get(RefCountManager).updateRefCount('pull', 'layer', { nodeId: 'a', success: true });
  expect(rows.get('layer')?.nodes).toMatchObject([{ nodeId: 'a' }]);
}

describe('RefCountModule', () => {
  it('injects the storage it is given, and a manager over it', async () => {
    const storage = new MemoryRefCountStorage();
    const app = await compile(RefCountModule.forRoot({ storage, updateRequiresNoRef: true }));
    const { storage: injected, manager } = app.get(Consumer);
    expect(injected).toBe(storage);
    await manager?.updateRefCount('pull', 'layer', { nodeId: 'a', success: true });
    expect((await storage.getRefCount('layer'))?.count).toBe(1);
    expect(await manager?.canPerformOperation('update', 'layer')).toMatchObject({ allowed: false });
  });

  it('injects undefined for both where references live in the resource’s own state', async () => {
    const app = await compile(RefCountModule.forRoot({}));
    await app.init();
    expect(app.get(Consumer)).toEqual({ storage: undefined, manager: undefined });
    await app.close();
  });

  it('takes a user’s own class, made by Nest with its dependencies', async () => {
    const app = await compile(
      DatabaseModule,
      RefCountModule.forRootAsync({
        imports: [DatabaseModule],
        inject: [DatabaseRefCountStorage],
        useFactory: (storage: DatabaseRefCountStorage) => ({ storage }),
      }),
    );
    expect(app.get(Consumer).storage).toBe(app.get(DatabaseRefCountStorage));
    await expectCountedIn(app.get(Database).rows, app);
    await expect(app.get(RefCountManager).releaseNodeRefs('a')).rejects.toMatchObject({
      code: 'REFCOUNT_UNSUPPORTED',
    });
  });

  it('lets a test override the storage under the manager', async () => {
    const database = new Database();
    const app = await Test.createTestingModule({
      imports: [RefCountModule.forRoot({})],
      providers: [Consumer],
    })
      .overrideProvider(REF_COUNT_STORAGE)
      .useValue(new DatabaseRefCountStorage(database))
      .compile();
    await expectCountedIn(database.rows, app);
  });

  it('stamps references by the clock it is given', async () => {
    @Module({ providers: [{ provide: CLOCK, useValue: new SimulatedClock(42) }], exports: [CLOCK] })
    class ClockModule {}
    const storage = new MemoryRefCountStorage();
    const app = await compile(
      RefCountModule.forRootAsync({ imports: [ClockModule], useFactory: () => ({ storage }) }),
    );
    await app.get(RefCountManager).updateRefCount('pull', 'layer', { nodeId: 'a', success: true });
    expect((await storage.getRefCount('layer'))?.nodes).toEqual([{ nodeId: 'a', sinceMs: 42 }]);
  });

  it('does not start on a file it cannot understand, and closes the file at the end', async () => {
    const directory = await temporaryDirectory();
    onTestFinished(directory.remove);
    const path = join(directory.path, 'refcounts.json');
    await writeFile(path, 'not ours');
    const refused = await compile(RefCountModule.forRoot({ storage: new FileRefCountStorage(path) }));
    await expect(refused.init()).rejects.toMatchObject({ code: 'REFCOUNT_UNREADABLE' });

    const storage = new FileRefCountStorage(join(directory.path, 'new.json'));
    const app = await compile(RefCountModule.forRoot({ storage }));
    await app.init();
    await app.close();
    await expect(storage.getRefCount('layer')).rejects.toThrow('is closed');
  });
});
