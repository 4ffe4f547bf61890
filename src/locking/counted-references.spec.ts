import { beforeEach, describe, expect, it } from 'vitest';
import { type RefCountStorage, type ReferenceCount } from '../refcount/ref-count-storage.interface.js';
import { bench, type Bench, deferred } from '../../test/support/layer.js';
import { settled } from '../../test/support/simulated-clock.js';

/** A user's own storage that notes what is asked of it, and in which order. */
class NotingStorage implements RefCountStorage {
  readonly counts = new Map<string, ReferenceCount>();
  readonly notes: string[] = [];
  fails: string | undefined;
  gate = Promise.resolve();
  running = 0;

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    await this.note('get');
    return this.counts.get(resourceId);
  }

  async setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void> {
    await this.note('set');
    this.counts.set(resourceId, refCount);
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    await this.note('delete');
    this.counts.delete(resourceId);
  }

  private async note(call: string): Promise<void> {
    if (this.running > 0) throw new Error('calls for one resource overlap');
    this.running++;
    this.notes.push(call);
    try {
      await this.gate;
      if (this.fails === call) throw new Error('no space left');
    } finally {
      this.running--;
    }
  }
}

describe('LockManager with a storage of the user for reference counts', () => {
  let storage: NotingStorage;
  let b: Bench;

  beforeEach(async () => {
    storage = new NotingStorage();
    b = await bench({}, { refCounts: storage });
    b.store.onCommit = (_writes, commit) => {
      storage.notes.push('commit');
      return commit();
    };
  });

  it('reads the counts at the start of a step and writes them before its commit', async () => {
    await b.layer.acquire('a');
    expect(storage.notes).toEqual(['get', 'commit']);
    storage.notes.length = 0;
    await b.layer.succeed('a');
    expect(storage.notes).toEqual(['get', 'set', 'commit']);
    expect(storage.counts.get('layer')).toMatchObject({ count: 1, nodes: [{ nodeId: 'a' }] });
    expect(await b.layer.acquire('b')).toMatchObject({ kind: 'skipped', referenceCount: 2 });
  });

  it('follows what the storage says, not what it last wrote', async () => {
    storage.counts.set('layer', { count: 1, nodes: [{ nodeId: 'elsewhere' }] });
    const deletion = { type: 'delete' };
    expect(await b.layer.acquire('a', deletion)).toMatchObject({ code: 'RESOURCE_IN_USE' });
    storage.counts.clear();
    expect(await b.layer.acquire('a', deletion)).toMatchObject({ kind: 'acquired' });
    await b.layer.succeed('a', deletion);
    expect(storage.counts.size).toBe(0);
  });

  it('shows readers the counts, one call of the storage at a time', async () => {
    await b.layer.acquire('a');
    await b.layer.succeed('a');
    const gate = deferred();
    storage.gate = gate.promise;
    const reads = [b.manager.read('layer'), b.manager.read('layer'), b.layer.acquire('b')] as const;
    await settled();
    gate.resolve();
    const [state] = await Promise.all(reads);
    expect(Array.from(state.references, ({ nodeId }) => nodeId)).toEqual(['a']);
  });

  it('keeps no counts in the record, and no record for counts alone', async () => {
    await b.manager.execute('layer', { kind: 'add-reference', nodeId: 'a' });
    expect(b.manager.peek('layer')?.references.size).toBe(0);
    await b.clock.advance(300_000);
    expect(await b.store.keys()).toEqual([]);
    expect(b.manager.size).toBe(0);
    expect(storage.counts.get('layer')).toMatchObject({ count: 1 });
  });

  it.each(['get', 'set', 'delete'])('rejects and commits nothing when its %s fails', async (call) => {
    const type = call === 'delete' ? 'delete' : 'pull';
    await b.layer.acquire('a', { type });
    if (call === 'delete') storage.counts.set('layer', { count: 1, nodes: [{ nodeId: 'late' }] });
    storage.notes.length = 0;
    storage.fails = call;
    await expect(b.layer.succeed('a', { type })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(storage.notes).not.toContain('commit');
    storage.fails = undefined;
    expect(await b.layer.holder(type)).toBe('a');
    expect(await b.layer.succeed('a', { type })).toMatchObject({ kind: 'released' });
  });

  it('leaves a reference too many, never too few, when the commit fails after it', async () => {
    await b.layer.acquire('a');
    b.store.onCommit = () => Promise.reject(new Error('crash'));
    await expect(b.layer.succeed('a')).rejects.toThrow('crash');
    expect(storage.counts.get('layer')).toMatchObject({ count: 1 });
    expect(await b.layer.holder()).toBe('a');
  });
});
