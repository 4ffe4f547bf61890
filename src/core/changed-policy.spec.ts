import { describe, expect, it } from 'vitest';
import { resource } from '../../test/support/resource-driver.js';

describe('a restart with another configuration', () => {
  it('leaves references that mean nothing once the clients count', () => {
    const before = resource();
    before.refer('n9');
    const r = before.restarted({ refcountMode: 'client', updateRequiresNoRef: true });
    expect(r.acquire('pull', 'n1')).toMatchObject({ kind: 'acquired', referenceCount: null });
    expect(r.acquire('update', 'n1')).toMatchObject({ kind: 'acquired' });
    expect(r.acquire('delete', 'n1')).toMatchObject({ kind: 'acquired' });
    r.succeed('delete', 'n1');
    expect(r.references).toEqual(['n9']);
  });

  it('to resource isolation serves nobody before the last of several holds is gone', () => {
    const before = resource();
    before.grant('pull', 'n1');
    before.grant('update', 'n2');
    before.queue('pull', 'n3');
    const r = before.restarted({ lockIsolation: 'resource' });
    expect(r.fail('pull', 'n1')).toMatchObject({ nextHolder: undefined });
    expect(r.waiting('pull')).toEqual(['n3']);
    expect(r.fail('update', 'n2')).toMatchObject({ nextHolder: 'n3' });
  });

  it('to operation isolation grants a free key to its waiter, who then waits no more', () => {
    const before = resource({ lockIsolation: 'resource' });
    before.grant('pull', 'n1');
    before.queue('update', 'n2');
    const r = before.restarted({ lockIsolation: 'operation' });
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'acquired' });
    expect(r.waiting('update')).toEqual([]);
  });

  it('to one that refuses instead of queueing keeps the place of those who wait', () => {
    const before = resource();
    before.grant('pull', 'n1');
    before.queue('pull', 'n2');
    const r = before.restarted({ allowMultiNodeDownload: false });
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'queued', position: 1 });
    expect(r.acquire('pull', 'n3')).toMatchObject({ kind: 'refused', code: 'LOCK_HELD' });
  });
});
