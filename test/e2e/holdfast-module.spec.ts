import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import { HoldfastModule, LockManager, type ReferenceCount, type RefCountStorage } from '../../src/index.js';

@Injectable()
class Greeting {
  readonly node = 'greeter';
}

/** A storage of a user's own, with a dependency of its own. */
@Injectable()
class CountingStorage implements RefCountStorage {
  readonly counts = new Map<string, ReferenceCount>();

  constructor(readonly greeting: Greeting) {}

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    return this.counts.get(resourceId);
  }

  async setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void> {
    this.counts.set(resourceId, refCount);
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    this.counts.delete(resourceId);
  }
}

@Module({ providers: [Greeting, CountingStorage], exports: [CountingStorage] })
class StorageModule {}

describe('HoldfastModule', () => {
  it('locks in an application that embeds it', async () => {
    const app = await Test.createTestingModule({
      imports: [HoldfastModule.forRoot({ settings: { storeUrl: 'memory:' } })],
    }).compile();
    await app.init();
    const manager = app.get(LockManager);
    const asker = { nodeId: 'n1' };
    expect(await manager.execute('layer', { kind: 'acquire', type: 'pull', asker })).toMatchObject({
      kind: 'acquired',
    });
    await app.close();
  });

  it('counts references in a storage that the application injects', async () => {
    const app = await Test.createTestingModule({
      imports: [
        StorageModule,
        HoldfastModule.forRootAsync({
          imports: [StorageModule],
          inject: [CountingStorage],
          useFactory: (refCountStorage: CountingStorage) => ({
            refCountStorage,
            settings: { storeUrl: 'memory:' },
          }),
        }),
      ],
    }).compile();
    await app.init();
    const manager = app.get(LockManager);
    const storage = app.get(CountingStorage);
    const asker = { nodeId: storage.greeting.node };
    await manager.execute('layer', { kind: 'acquire', type: 'pull', asker });
    await manager.execute('layer', {
      kind: 'release',
      type: 'pull',
      asker,
      success: true,
      error: '',
      fatal: false,
    });
    expect(storage.counts.get('layer')).toMatchObject({ count: 1, nodes: [{ nodeId: 'greeter' }] });
    expect(manager.peek('layer')?.references.size).toBe(0);
    await app.close();
  });
});
