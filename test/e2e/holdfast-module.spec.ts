import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import { RefCountManager } from '../../src/content/index.js';
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

/** Who asks, in an application that wants to know. */
@Injectable()
class IdentityGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['authorization'] === 'Bearer known') return true;
    throw new UnauthorizedException({ code: 'UNKNOWN_CALLER', message: 'Say who you are.' });
  }
}

describe('HoldfastModule', () => {
  it('lets a guard of the application decide who may ask, on every endpoint', async () => {
    const module = await Test.createTestingModule({
      imports: [HoldfastModule.forRoot({ settings: { storeUrl: 'memory:' } })],
      providers: [{ provide: APP_GUARD, useClass: IdentityGuard }],
    }).compile();
    const app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const post = (path: string, headers: Record<string, string>) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ type: 'update', resource_id: 'r', node_id: 'n', requests: [] }),
      });
    for (const path of ['/lock', '/unlock', '/lock/batch', '/refcounts/add', '/sessions', '/locks/release']) {
      expect((await post(path, {})).status, path).toBe(401);
    }
    for (const path of ['/events', '/lock/subscribe?type=update&resource_id=r', '/locks']) {
      expect((await fetch(`${url}${path}`)).status, path).toBe(401);
    }
    expect(module.get(LockManager).peek('r')).toBeUndefined();
    const known = await post('/lock', { authorization: 'Bearer known' });
    expect(await known.json()).toMatchObject({ acquired: true });
    await app.close();
  });

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
    expect(() => app.get(RefCountManager, { strict: false }), 'a second writer').toThrow(
      /not find RefCountManager/,
    );
    await app.close();
  });
});
