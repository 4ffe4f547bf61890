import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';

describe('an unlock with success', () => {
  it('dismisses every waiter and records the success', () => {
    const r = resource();
    const token = r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.queue('update', 'n3/s1');
    r.later(20);
    expect(r.succeed('update', 'n1')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(r.told).toEqual(['completed update n1']);
    expect(r.events[0]).toMatchObject({ success: true, dismissed: 2, token, observersOnly: false });
    expect(r.waiting('update')).toEqual([]);
    expect(r.dismissed('update')).toEqual(['n2', 'n3/s1']);
    expect(r.key('update')).toMatchObject({
      hold: undefined,
      success: { token, nodeId: 'n1', atMs: r.nowMs, moment: { revision: r.revision, n: 0 } },
      lastRelease: { moment: { revision: r.revision, n: 0 } },
    });
  });

  it('of a pull makes the worker and every dismissed node a reference, each once', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2/s1');
    r.queue('pull', 'n2/s2');
    r.queue('pull', 'n1/s1');
    r.succeed('pull', 'n1');
    expect(r.references).toEqual(['n1', 'n2']);
    expect(r.events[0]).toMatchObject({ dismissed: 3, referenceCount: 2 });
    expect([...r.state.references][0]).toMatchObject({ sinceMs: r.nowMs });
  });

  it('of a pull leaves a worker that is a reference already where it is', () => {
    const r = resource();
    r.refer('n1');
    r.refer('n2');
    r.grant('pull', 'n1', { absent: true });
    r.succeed('pull', 'n1');
    expect(r.references).toEqual(['n1', 'n2']);
  });

  it.each(['update', 'scan'])('of %s leaves references alone, its waiters included', (type) => {
    const r = resource();
    r.refer('n9');
    r.grant(type, 'n1');
    r.queue(type, 'n2');
    r.succeed(type, 'n1');
    expect(r.references).toEqual(['n9']);
  });

  it('of a delete drops the references of the resource', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.queue('delete', 'n2');
    r.grant('pull', 'n3');
    r.succeed('pull', 'n3');
    expect(r.references).toEqual(['n3']);
    r.succeed('delete', 'n1');
    expect(r.references).toEqual([]);
    expect(r.events[0]).toMatchObject({ referenceCount: 0 });
  });

  it('replaces an earlier success and drops an earlier failure', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.failFatally('update', 'n1');
    const token = r.grant('update', 'n1');
    r.succeed('update', 'n1');
    expect(r.key('update')).toMatchObject({ failure: undefined, success: { token } });
  });

  it('leaves the other keys’ queues alone under operation isolation', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.succeed('update', 'n1');
    expect(r.waiting('scan')).toEqual(['n2']);
  });

  it('dismisses and remembers the same way when the clients count', () => {
    const r = resource({ refcountMode: 'client' });
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.succeed('pull', 'n1');
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'skipped', nodeId: 'n1', referenceCount: null });
    expect(r.acquire('pull', 'n3')).toMatchObject({ kind: 'acquired' });
    expect(r.references).toEqual([]);
  });
});

describe('an unlock with success under hand-over', () => {
  it('passes the lock to the next waiter and records no success', () => {
    const r = resource({ successPolicy: 'handover' });
    r.grant('update', 'n1');
    const ticket = r.queue('update', 'n2');
    r.queue('update', 'n3');
    expect(r.succeed('update', 'n1')).toEqual({ kind: 'released', nextHolder: 'n2' });
    expect(r.told).toEqual(['completed update n1', 'assigned update n2']);
    expect(r.events.map((event) => event.observersOnly)).toEqual([true, false]);
    expect(r.key('update').success).toBeUndefined();
    expect(r.dismissed('update')).toEqual([]);
    r.succeed('update', 'n2');
    r.succeed('update', 'n3');
    expect(r.acquire('update', 'n2', { ticket })).toMatchObject({ kind: 'acquired' });
  });

  it('still skips pulls that meet counted references, and tells them so', () => {
    const r = resource({ successPolicy: 'handover' });
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    expect(r.succeed('pull', 'n1')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(r.told).toEqual(['completed pull n1', 'completed pull n1']);
    expect(r.events.map((event) => event.observersOnly)).toEqual([true, false]);
    expect(r.dismissed('pull')).toEqual(['n2']);
    expect(r.references).toEqual(['n1', 'n2']);
  });

  it('hands pulls on one by one when the clients count', () => {
    const r = resource({ successPolicy: 'handover', refcountMode: 'client' });
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    expect(r.succeed('pull', 'n1')).toMatchObject({ nextHolder: 'n2' });
  });

  it('drops a failure that is older than the success, though the success is not recorded', () => {
    const r = resource({ successPolicy: 'handover' });
    r.grant('update', 'n1');
    r.failFatally('update', 'n1');
    r.grant('update', 'n1');
    r.succeed('update', 'n1');
    expect(r.key('update').failure).toBeUndefined();
    expect(r.status('update')).toMatchObject({ completed: false });
  });
});

describe('an unlock with failure', () => {
  it('leaves references untouched and records no outcome', () => {
    const r = resource();
    r.refer('n9');
    r.grant('pull', 'n1', { absent: true });
    r.fail('pull', 'n1');
    expect(r.references).toEqual(['n9']);
    expect(r.key('pull')).toMatchObject({ success: undefined, failure: undefined, hold: undefined });
    expect(r.told).toEqual(['released pull n1']);
    expect(r.events[0]).toMatchObject({ error: 'broken', observersOnly: true });
  });

  it('keeps an earlier success for those who missed it', () => {
    const r = resource();
    r.grant('update', 'n1');
    const ticket = r.queue('update', 'n2');
    r.withdraw('update', 'n2');
    r.succeed('update', 'n1');
    r.grant('update', 'n1');
    r.fail('update', 'n1');
    expect(r.acquire('update', 'n2', { ticket })).toMatchObject({ kind: 'skipped' });
  });
});

describe('a fatal failure', () => {
  it('dismisses every waiter with its error and serves nobody', () => {
    const r = resource();
    const token = r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.queue('pull', 'n3');
    r.refer('n9');
    expect(r.failFatally('pull', 'n1')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(r.told).toEqual(['failed pull n1']);
    expect(r.events[0]).toMatchObject({
      success: false,
      error: 'not found',
      token,
      dismissed: 2,
      observersOnly: false,
    });
    expect(r.dismissed('pull')).toEqual(['n2', 'n3']);
    expect(r.references).toEqual(['n9']);
    expect(r.key('pull').failure).toMatchObject({ code: 'OPERATION_FAILED', error: 'not found', token });
  });

  it('stands beside an older success', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.succeed('update', 'n1');
    r.grant('update', 'n1');
    r.failFatally('update', 'n1');
    expect(r.key('update')).toMatchObject({ success: { success: true }, failure: { success: false } });
  });

  it('keeps nobody from trying again', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.failFatally('pull', 'n1');
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'acquired' });
  });
});

describe('a release by force', () => {
  it('is a failure of the hold it names', () => {
    const r = resource();
    const token = r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    expect(r.forceRelease('pull', token)).toEqual({ kind: 'released', nextHolder: 'n2' });
    expect(r.told).toEqual(['released pull n1', 'assigned pull n2']);
    expect(r.events[0]).toMatchObject({ error: 'by hand', token });
  });

  it('tells its reason to whoever lost the hold by it and names it again', () => {
    const error = 'released by force: by hand';
    const r = resource();
    const token = r.grant('pull', 'n1');
    r.forceRelease('pull', token);
    expect(r.renew('pull', 'n1', { token })).toEqual({ ...refusal('LOCK_NOT_FOUND'), error });
    expect(r.succeed('pull', 'n1')).toEqual({ ...refusal('LOCK_NOT_FOUND'), error });
    r.grant('pull', 'n2');
    expect(r.succeed('pull', 'n1', { token })).toEqual({ ...refusal('NOT_HOLDER'), error });
    expect(r.renew('pull', 'n1')).toEqual({ ...refusal('NOT_HOLDER'), error });
    r.succeed('pull', 'n2', { success: false });
    expect(r.renew('pull', 'n1', { token })).toMatchObject({ error: 'nobody holds this lock' });
  });

  it('tells it also where another session of the node holds the lock by now', () => {
    const r = resource();
    const token = r.grant('pull', 'n1/s1');
    r.forceRelease('pull', token);
    r.grant('pull', 'n1/s2');
    const error = 'released by force: by hand';
    expect(r.succeed('pull', 'n1/s1', { token })).toEqual({ ...refusal('STALE_TOKEN'), error });
  });

  it('tells nobody else', () => {
    const r = resource();
    const token = r.grant('pull', 'n1/s1');
    r.forceRelease('pull', token);
    const others = [
      r.renew('pull', 'n2', { token }),
      r.renew('pull', 'n1/s2'),
      r.renew('pull', 'n1/s1', { token: token + 1 }),
    ];
    for (const other of others) expect(other).toMatchObject({ error: 'nobody holds this lock' });
  });

  it('is not what a holder is told of that has reported a failure itself', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.fail('pull', 'n1');
    expect(r.renew('pull', 'n1')).toMatchObject({ error: 'nobody holds this lock' });
  });

  it('is refused for a hold that has passed on, or does not exist', () => {
    const r = resource();
    const token = r.grant('pull', 'n1');
    expect(r.forceRelease('pull', token + 1)).toMatchObject(refusal('STALE_TOKEN'));
    expect(r.forceRelease('update', token)).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.holder('pull')).toBe('n1');
  });
});

describe('an asker that held the key again after its last release', () => {
  it('is not told of the old release when its new hold has expired', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.succeed('update', 'n1');
    const token = r.grant('update', 'n1');
    r.run({ kind: 'expire-hold', type: 'update', token, renewed: token, error: 'lease' });
    expect(r.succeed('update', 'n1')).toMatchObject({ kind: 'refused', code: 'LOCK_NOT_FOUND' });
  });
});
