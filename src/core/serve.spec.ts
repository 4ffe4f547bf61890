import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';

describe('a lock that becomes free by a failure', () => {
  it('is handed to the first waiter, who has not claimed it yet', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const asked = r.later(10).nowMs;
    const ticket = r.queue('pull', 'n2/s1', { subtype: 'x' });
    r.queue('pull', 'n3');
    r.later(10);
    expect(r.fail('pull', 'n1')).toEqual({ kind: 'released', nextHolder: 'n2' });
    expect(r.told).toEqual(['released pull n1', 'assigned pull n2']);
    expect(r.events.map((event) => event.observersOnly)).toEqual([true, false]);
    expect(r.events[1]).toMatchObject({ sessionId: 's1', token: r.revision, success: false, error: '' });
    expect(r.key('pull').hold).toEqual({
      nodeId: 'n2',
      sessionId: 's1',
      subtype: 'x',
      token: r.revision,
      renewed: r.revision,
      leaseMs: 0,
      requestedAtMs: asked,
      acquiredAtMs: r.nowMs,
      ticket,
      claimed: false,
      boundAt: undefined,
      n: 1,
    });
    expect(r.waiting('pull')).toEqual(['n3']);
  });

  it('is handed over with the lease the waiter asked for, else with the default', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2', { leaseMs: 77 });
    r.queue('pull', 'n3');
    r.fail('pull', 'n1');
    expect(r.key('pull').hold).toMatchObject({ leaseMs: 77 });
    r.fail('pull', 'n2');
    expect(r.key('pull').hold).toMatchObject({ leaseMs: 3_600_000 });
  });

  it('is handed on in the order of arrival', () => {
    const r = resource();
    r.grant('scan', 'n1');
    for (const node of ['n2', 'n3', 'n4']) r.queue('scan', node);
    for (const [from, to] of [
      ['n1', 'n2'],
      ['n2', 'n3'],
      ['n3', 'n4'],
    ] as const) {
      r.fail('scan', from);
      expect(r.holder('scan')).toBe(to);
    }
    r.fail('scan', 'n4');
    expect(r.holder('scan')).toBeUndefined();
  });
});

describe('a waiter judged at the moment it is served', () => {
  it('skips pulls that meet references, all of them, each made a reference and told in one event', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.queue('pull', 'n3');
    const since = r.nowMs;
    r.refer('n9');
    r.later(50);
    expect(r.fail('pull', 'n1')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(r.told).toEqual(['released pull n1', 'completed pull n9']);
    expect(r.events[1]).toMatchObject({
      success: true,
      dismissed: 2,
      token: undefined,
      atMs: since,
      referenceCount: 3,
      observersOnly: false,
    });
    expect(r.references).toEqual(['n9', 'n2', 'n3']);
    expect(r.dismissed('pull')).toEqual(['n2', 'n3']);
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'skipped' });
  });

  it('goes on to the next that is not skipped', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.queue('pull', 'n3', { absent: true });
    r.queue('pull', 'n4');
    r.refer('n9');
    expect(r.fail('pull', 'n1')).toMatchObject({ nextHolder: 'n3' });
    expect(r.dismissed('pull')).toEqual(['n2']);
    expect(r.waiting('pull')).toEqual(['n4']);
  });

  it('dismisses the whole queue of a delete that meets references, with an event that names its head', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.queue('delete', 'n2');
    r.queue('delete', 'n3');
    r.grant('pull', 'n9');
    r.succeed('pull', 'n9');
    expect(r.fail('delete', 'n1')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(r.told).toEqual(['released delete n1', 'failed delete n2']);
    expect(r.events[1]).toMatchObject({
      success: false,
      error: 'in use by 1 node',
      dismissed: 2,
      token: undefined,
      observersOnly: false,
    });
    expect(r.dismissed('delete')).toEqual(['n2', 'n3']);
    expect(r.key('delete').failure).toMatchObject({ code: 'RESOURCE_IN_USE', nodeId: 'n2' });
  });

  it('dismisses the queue of an update likewise, if updates require that there are no references', () => {
    const r = resource({ updateRequiresNoRef: true });
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.refer('n9');
    r.fail('update', 'n1');
    expect(r.dismissed('update')).toEqual(['n2']);
    expect(r.acquire('update', 'n2')).toMatchObject(refusal('RESOURCE_IN_USE'));
  });

  it('hands an update over beside references otherwise', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.refer('n9');
    r.fail('update', 'n1');
    expect(r.holder('update')).toBe('n2');
  });
});

describe('lanes', () => {
  const busy = () => {
    const r = resource({ lanes: ['a', 'b'] });
    r.grant('scan', 'n1');
    r.queue('scan', 'none-1');
    r.queue('scan', 'b-1', { subtype: 'b' });
    r.queue('scan', 'unknown', { subtype: 'zzz' });
    r.queue('scan', 'a-1', { subtype: 'a' });
    r.queue('scan', 'b-2', { subtype: 'b' });
    return r;
  };

  it('are served strictly in their order, each first come first served, unknown subtypes last', () => {
    const r = busy();
    const served = [];
    for (let holder = r.holder('scan'); holder; holder = r.holder('scan')) {
      r.fail('scan', holder);
      served.push(r.holder('scan'));
    }
    expect(served).toEqual(['a-1', 'b-1', 'b-2', 'none-1', 'unknown', undefined]);
  });

  it('count in the position that is told', () => {
    const r = busy();
    const positions = ['a-1', 'b-1', 'b-2', 'none-1', 'unknown'].map((who) => r.status('scan', who).position);
    expect(positions).toEqual([1, 2, 3, 4, 5]);
    expect(r.acquire('scan', 'a-2', { subtype: 'a' })).toMatchObject({ position: 2 });
  });

  it('do not matter to a success: everyone is dismissed', () => {
    const r = busy();
    r.succeed('scan', 'n1');
    expect(r.waiting('scan')).toEqual([]);
    expect(r.dismissed('scan')).toEqual(['a-1', 'b-1', 'b-2', 'none-1', 'unknown']);
  });

  it('that are no longer configured are served last', () => {
    const r = resource({ lanes: ['a', 'b'] });
    r.grant('scan', 'n1');
    r.queue('scan', 'old', { subtype: 'b' });
    const restarted = r.restarted({ lanes: ['a'] });
    restarted.queue('scan', 'known', { subtype: 'a' });
    expect(restarted.waiting('scan')).toEqual(['known', 'old']);
  });
});

describe('resource isolation', () => {
  it('lets one operation of any type run, even for the same asker', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('pull', 'n1');
    expect(r.acquire('update', 'n1')).toMatchObject({ kind: 'queued', position: 1 });
    expect(r.acquire('delete', 'n2')).toMatchObject({ kind: 'queued', position: 1 });
  });

  it('refuses another type when several nodes are not allowed', () => {
    const r = resource({ lockIsolation: 'resource', allowMultiNodeDownload: false });
    r.grant('pull', 'n1');
    expect(r.acquire('update', 'n1')).toMatchObject(refusal('LOCK_HELD'));
  });

  it('serves the earliest-arrived among the heads of all queues after a failure', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('pull', 'n1');
    r.queue('update', 'n2');
    r.queue('pull', 'n3');
    r.queue('scan', 'n4');
    expect(r.fail('pull', 'n1')).toMatchObject({ nextHolder: 'n2' });
    expect(r.holder('update')).toBe('n2');
    r.fail('update', 'n2');
    expect(r.holder('pull')).toBe('n3');
  });

  it('takes each queue’s head by its lanes before it compares arrivals', () => {
    const r = resource({ lockIsolation: 'resource', lanes: ['a'] });
    r.grant('pull', 'n1');
    r.queue('update', 'early');
    r.queue('scan', 'middle');
    r.queue('update', 'late', { subtype: 'a' });
    r.fail('pull', 'n1');
    expect(r.holder('scan')).toBe('middle');
    r.fail('scan', 'middle');
    expect(r.holder('update')).toBe('late');
  });

  it('serves another queue after a success has dismissed its own', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.queue('scan', 'n3');
    expect(r.succeed('update', 'n1')).toEqual({ kind: 'released', nextHolder: 'n3' });
    expect(r.dismissed('update')).toEqual(['n2']);
    expect(r.told).toEqual(['completed update n1', 'assigned scan n3']);
  });

  it('serves another queue after a fatal failure has dismissed its own', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.queue('scan', 'n3');
    expect(r.failFatally('update', 'n1')).toEqual({ kind: 'released', nextHolder: 'n3' });
    expect(r.told).toEqual(['failed update n1', 'assigned scan n3']);
  });

  it('serves the next after a queue was refused', () => {
    const r = resource({ lockIsolation: 'resource', updateRequiresNoRef: true });
    r.grant('pull', 'n1');
    r.queue('update', 'n2');
    r.queue('update', 'n3');
    r.queue('scan', 'n4');
    expect(r.succeed('pull', 'n1')).toEqual({ kind: 'released', nextHolder: 'n4' });
    expect(r.told).toEqual(['completed pull n1', 'failed update n2', 'assigned scan n4']);
    expect(r.dismissed('update')).toEqual(['n2', 'n3']);
  });

  it('skips a pull among other types, and goes on by arrival', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('scan', 'n1');
    r.queue('pull', 'n2');
    r.queue('update', 'n3');
    r.queue('pull', 'n4');
    r.refer('n9');
    expect(r.fail('scan', 'n1')).toMatchObject({ nextHolder: 'n3' });
    expect(r.told).toEqual(['released scan n1', 'completed pull n9', 'assigned update n3']);
    expect(r.events[1]).toMatchObject({ dismissed: 1 });
    expect(r.waiting('pull')).toEqual(['n4']);
  });

  it('tells each queue of its own skips, should the clock have gone back into the time of a success', () => {
    const r = resource({ lockIsolation: 'resource', completedSkipMs: 1000 });
    r.grant('update', 'n0');
    r.succeed('update', 'n0');
    r.later(1000).grant('scan', 'n1');
    r.queue('pull', 'n2');
    r.queue('update', 'n3');
    r.refer('n9');
    r.later(-500).fail('scan', 'n1');
    expect(r.told).toEqual(['released scan n1', 'completed pull n9', 'completed update n0']);
    expect([r.dismissed('pull'), r.dismissed('update')]).toEqual([['n2'], ['n3']]);
    expect(r.references).toEqual(['n9', 'n2']);
  });
});
