import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FileRefCountStorage } from '../../src/refcount/file-ref-count-storage.js';
import { MemoryRefCountStorage } from '../../src/refcount/memory-ref-count-storage.js';
import {
  REF_COUNT_STORAGE,
  type RefCountStorage,
  type ReferenceCount,
} from '../../src/refcount/ref-count-storage.interface.js';
import { RefCountModule } from '../../src/refcount/ref-count.module.js';
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
  constructor(@Inject(REF_COUNT_STORAGE) readonly storage: RefCountStorage | undefined) {}
}

const compile = (...imports: NonNullable<ModuleMetadata['imports']>) =>
  Test.createTestingModule({ imports, providers: [Consumer] }).compile();

describe('RefCountModule', () => {
  it('injects the storage it is given', async () => {
    const storage = new MemoryRefCountStorage();
    const app = await compile(RefCountModule.forRoot({ storage }));
    expect(app.get(Consumer).storage).toBe(storage);
  });

  it('injects undefined where references live in the resource’s own state', async () => {
    const app = await compile(RefCountModule.forRoot({}));
    await app.init();
    expect(app.get(Consumer)).toEqual({ storage: undefined });
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
  });

  it('lets a test override the storage', async () => {
    const storage = new MemoryRefCountStorage();
    const app = await Test.createTestingModule({
      imports: [RefCountModule.forRoot({})],
      providers: [Consumer],
    })
      .overrideProvider(REF_COUNT_STORAGE)
      .useValue(storage)
      .compile();
    expect(app.get(Consumer).storage).toBe(storage);
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
