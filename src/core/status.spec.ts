import { describe, expect, it } from 'vitest';
import { resource } from '../../test/support/resource-driver.js';

describe('the status of a key', () => {
  it('of which nothing is known is plainly free', () => {
    expect(resource().status('pull', 'n1')).toEqual({
      acquired: false,
      completed: false,
      success: false,
      error: '',
      completedAtMs: undefined,
      holder: undefined,
      position: 0,
      queueLength: 0,
      referenceCount: 0,
    });
  });

  it('names the holder and says to the holder that it is the one', () => {
    const r = resource();
    const token = r.grant('scan', 'n1/s1');
    expect(r.status('scan', 'n1/s1')).toMatchObject({ acquired: true, holder: { token } });
    expect(r.status('scan', 'n1')).toMatchObject({ acquired: false, holder: { token } });
    expect(r.status('scan')).toMatchObject({ acquired: false, holder: { nodeId: 'n1' } });
  });

  it('tells a waiter its position, and everyone the length of the queue', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.queue('scan', 'n3');
    expect(r.status('scan', 'n3')).toMatchObject({ position: 2, queueLength: 2, completed: false });
    expect(r.status('scan', 'n9')).toMatchObject({ position: 0, queueLength: 2 });
  });

  it('counts references, or says that nobody here counts', () => {
    const r = resource();
    r.refer('n1');
    expect(r.status('scan').referenceCount).toBe(1);
    expect(resource({ refcountMode: 'client' }).status('scan').referenceCount).toBeNull();
  });
});

describe('completion, as a poller sees it', () => {
  it('is a success while that is the newest thing on the key', () => {
    const r = resource();
    r.grant('scan', 'n1');
    const done = r.later(5).nowMs;
    r.succeed('scan', 'n1');
    expect(r.status('scan')).toMatchObject({ completed: true, success: true, completedAtMs: done });
  });

  it('is false while the key is held again, even for those dismissed or with an old ticket', () => {
    const r = resource();
    r.grant('scan', 'n1');
    const ticket = r.queue('scan', 'n2');
    r.succeed('scan', 'n1');
    r.grant('scan', 'n3');
    expect(r.status('scan', 'n2', ticket)).toMatchObject({ completed: false, success: false });
    expect(r.status('scan')).toMatchObject({ completed: false });
  });

  it('is false while somebody waits behind another type under resource isolation', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    r.grant('update', 'n2');
    expect(r.status('scan', 'n4')).toMatchObject({ completed: true });
    r.queue('scan', 'n3');
    expect(r.status('scan', 'n4')).toMatchObject({ completed: false });
    expect(r.status('scan', 'n3')).toMatchObject({ completed: false, position: 1 });
  });

  it('is false for a waiter though a success newer than some ticket is recorded', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('scan', 'n1');
    const ticket = r.queue('scan', 'n2');
    r.succeed('scan', 'n1');
    r.acquire('scan', 'n2');
    r.grant('update', 'n3');
    r.queue('scan', 'n2');
    expect(r.status('scan', 'n2', ticket)).toMatchObject({ completed: false });
    expect(r.status('scan', 'n4', ticket)).toMatchObject({ completed: true });
  });

  it('with a ticket is not a fatal failure from before it', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.failFatally('scan', 'n1');
    r.grant('scan', 'n1');
    const ticket = r.queue('scan', 'n2');
    r.run({ kind: 'withdraw', type: 'scan', asker: { nodeId: 'n2' }, error: 'x' });
    r.fail('scan', 'n1');
    expect(r.status('scan', 'n2', ticket)).toMatchObject({ completed: false });
    expect(r.status('scan', 'n2')).toMatchObject({ completed: true, success: false });
  });

  it('with a ticket is only what is newer than it', () => {
    const r = resource();
    r.grant('scan', 'n1');
    const older = r.queue('scan', 'n2');
    r.withdraw('scan', 'n2');
    r.succeed('scan', 'n1');
    r.grant('scan', 'n1');
    const newer = r.queue('scan', 'n2');
    r.withdraw('scan', 'n2');
    r.fail('scan', 'n1');
    expect(r.status('scan', 'n2', older)).toMatchObject({ completed: true, success: true });
    expect(r.status('scan', 'n2', newer)).toMatchObject({ completed: false });
  });

  it('is a fatal failure with its error, while that is newest', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    r.grant('scan', 'n1');
    const ticket = r.queue('scan', 'n2');
    r.failFatally('scan', 'n1');
    const failed = { completed: true, success: false, error: 'not found' };
    expect(r.status('scan')).toMatchObject(failed);
    expect(r.status('scan', 'n9', ticket)).toMatchObject(failed);
  });

  it('is what the asker was dismissed with, whatever happened since', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.failFatally('scan', 'n1');
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    expect(r.status('scan', 'n2')).toMatchObject({ completed: true, success: false, error: 'not found' });
    expect(r.status('scan', 'n3')).toMatchObject({ completed: true, success: true });
  });

  it('of a pull with references is the truth every time, since the earliest of them', () => {
    const r = resource();
    r.refer('n9');
    const since = r.nowMs;
    r.later(10).refer('n8');
    expect(r.status('pull', 'n1')).toMatchObject({ completed: true, success: true, completedAtMs: since });
    expect(r.status('update', 'n1')).toMatchObject({ completed: false });
  });

  it('of a pull is not told by references while the resource is being deleted', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.grant('pull', 'n2');
    r.succeed('pull', 'n2');
    expect(r.status('pull', 'n3')).toMatchObject({ completed: false, referenceCount: 1 });
  });
});
