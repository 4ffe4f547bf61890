import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';

describe('references', () => {
  it('refuse a delete, the reference of the asker itself included', () => {
    const r = resource();
    r.refer('n1');
    expect(r.acquire('delete', 'n1')).toEqual({
      kind: 'refused',
      code: 'RESOURCE_IN_USE',
      error: 'in use by 1 node',
    });
    r.refer('n2');
    expect(r.acquire('delete', 'n3')).toMatchObject({ error: 'in use by 2 nodes' });
  });

  it('do not refuse an update', () => {
    const r = resource();
    r.refer('n1');
    expect(r.acquire('update', 'n1')).toMatchObject({ kind: 'acquired', referenceCount: 1 });
  });

  it('refuse an update when updates require that there are none', () => {
    const r = resource({ updateRequiresNoRef: true });
    expect(r.acquire('update', 'n1')).toMatchObject({ kind: 'acquired' });
    r.succeed('update', 'n1');
    r.refer('n1');
    expect(r.acquire('update', 'n1')).toMatchObject(refusal('RESOURCE_IN_USE'));
  });

  it('skip a pull, which names the earliest of them and becomes one', () => {
    const r = resource();
    r.refer('n1');
    const since = r.nowMs;
    r.later(500).refer('n2');
    expect(r.acquire('pull', 'n3')).toEqual({
      kind: 'skipped',
      nodeId: 'n1',
      atMs: since,
      wasDismissed: false,
      referenceCount: 3,
    });
    expect(r.references).toEqual(['n1', 'n2', 'n3']);
    expect(r.told).toEqual(['referenced pull n3']);
  });

  it('count a node once, however often it is skipped', () => {
    const r = resource();
    r.refer('n1');
    r.acquire('pull', 'n2');
    const { state } = r;
    expect(r.acquire('pull', 'n2/s9')).toMatchObject({ kind: 'skipped', referenceCount: 2 });
    expect(r.state).toBe(state);
  });

  it('mean nothing to a plain operation', () => {
    const r = resource({ updateRequiresNoRef: true });
    r.refer('n1');
    expect(r.acquire('scan', 'n1')).toMatchObject({ kind: 'acquired' });
  });

  it('take a waiter that asks again out of the queue', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.refer('n9');
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'skipped' });
    expect(r.waiting('pull')).toEqual([]);
    expect(r.told).toEqual(['withdrawn pull n2', 'referenced pull n2']);
  });

  it('take a refused waiter alone out of the queue when it asks again', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.queue('delete', 'n2');
    r.queue('delete', 'n3');
    r.grant('pull', 'n4');
    r.succeed('pull', 'n4');
    expect(r.acquire('delete', 'n2')).toMatchObject(refusal('RESOURCE_IN_USE'));
    expect(r.waiting('delete')).toEqual(['n3']);
    expect(r.told).toEqual(['withdrawn delete n2']);
  });

  it('are no business of the server when the clients count', () => {
    const r = resource({ refcountMode: 'client', updateRequiresNoRef: true });
    r.grant('pull', 'n1');
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'queued', referenceCount: null });
    r.succeed('pull', 'n1');
    expect(r.references).toEqual([]);
    expect(r.acquire('update', 'n3')).toMatchObject({ kind: 'acquired', referenceCount: null });
    expect(r.acquire('delete', 'n3')).toMatchObject({ kind: 'acquired' });
    expect(r.events[0]).toMatchObject({ referenceCount: null });
  });
});

describe('a remembered success', () => {
  it('skips a request whose ticket is older, and is not asked for again without one', () => {
    const r = resource();
    r.grant('update', 'n1');
    const ticket = r.queue('update', 'n2');
    r.withdraw('update', 'n2');
    const done = r.later(5).nowMs;
    r.succeed('update', 'n1');
    expect(r.acquire('update', 'n2', { ticket })).toEqual({
      kind: 'skipped',
      nodeId: 'n1',
      atMs: done,
      wasDismissed: false,
      referenceCount: 0,
    });
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'acquired' });
  });

  it('does not skip a request whose ticket is newer: a second update is usually meant', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.succeed('update', 'n1');
    r.grant('update', 'n1');
    const ticket = r.queue('update', 'n2');
    expect(r.acquire('update', 'n2', { ticket })).toMatchObject({ kind: 'queued' });
  });

  it('is older than a ticket given later in the same commit', () => {
    const r = resource();
    r.grant('update', 'n1');
    const release = {
      kind: 'release',
      type: 'update',
      asker: { nodeId: 'n1' },
      success: true,
      error: '',
      fatal: false,
    } as const;
    const ask = { kind: 'acquire', type: 'update', asker: { nodeId: 'n2' } } as const;
    const [, again] = r.combine(release, { ...ask, ticket: { revision: 0, n: 5 } });
    expect(again).toMatchObject({ kind: 'acquired' });
  });

  it('skips a pull by ticket and counts its node', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const ticket = r.queue('pull', 'n2');
    r.withdraw('pull', 'n2');
    r.succeed('pull', 'n1');
    r.unrefer('n1');
    expect(r.acquire('pull', 'n2', { ticket })).toMatchObject({ kind: 'skipped' });
    expect(r.references).toEqual(['n2']);
  });

  it('skips any request within the configured time, and none after it', () => {
    const r = resource({ completedSkipMs: 1000 });
    r.grant('update', 'n1');
    r.succeed('update', 'n1');
    expect(r.later(999).acquire('update', 'n2')).toMatchObject({ kind: 'skipped', nodeId: 'n1' });
    expect(r.later(1).acquire('update', 'n2')).toMatchObject({ kind: 'acquired' });
  });

  it('skips nobody without a ticket when that time is not configured', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    expect(r.acquire('scan', 'n2')).toMatchObject({ kind: 'acquired' });
  });

  it('of one type says nothing about another', () => {
    const r = resource({ completedSkipMs: 1000 });
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'acquired' });
  });
});

describe('an unspent dismissal', () => {
  it('by success skips the asker once, also while the key is held again', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.succeed('update', 'n1');
    r.grant('update', 'n3');
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'skipped', nodeId: 'n1', wasDismissed: true });
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'queued' });
  });

  it('by a fatal failure refuses the asker once with that error', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.failFatally('pull', 'n1');
    expect(r.acquire('pull', 'n2')).toEqual({
      kind: 'refused',
      code: 'OPERATION_FAILED',
      error: 'not found',
    });
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'acquired' });
  });

  it('by a refusal refuses the asker once with that refusal, even if the reason is gone', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.queue('delete', 'n2');
    r.grant('pull', 'n3');
    r.succeed('pull', 'n3');
    r.fail('delete', 'n1');
    expect(r.dismissed('delete')).toEqual(['n2']);
    r.unrefer('n3');
    expect(r.acquire('delete', 'n2')).toEqual({
      kind: 'refused',
      code: 'RESOURCE_IN_USE',
      error: 'in use by 1 node',
    });
    expect(r.acquire('delete', 'n2')).toMatchObject({ kind: 'acquired' });
  });

  it('speaks to its asker only, not to another session of that node', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.queue('update', 'n2/s1');
    r.succeed('update', 'n1');
    expect(r.acquire('update', 'n2/s2')).toMatchObject({ kind: 'acquired' });
    expect(r.acquire('update', 'n2/s1')).toMatchObject({ kind: 'skipped' });
  });

  it('by success makes a pull a reference when it is told, if it no longer is one', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.succeed('pull', 'n1');
    r.unrefer('n1');
    r.unrefer('n2');
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'skipped' });
    expect(r.references).toEqual(['n2']);
  });
});
