import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';

/** n1 holds, n2 and n3 wait. */
function queueOfTwo() {
  const r = resource();
  const token = r.grant('scan', 'n1');
  const ticket = r.queue('scan', 'n2');
  r.queue('scan', 'n3');
  return { r, token, ticket };
}

/** n2 was handed the lock and has not asked for it; n3 waits. */
function handedOver() {
  const { r, ticket } = queueOfTwo();
  r.fail('scan', 'n1');
  return { r, ticket, token: r.revision };
}

describe('a renewal', () => {
  it('keeps token and lease, and counts from this commit', () => {
    const r = resource();
    const token = r.grant('scan', 'n1', { leaseMs: 500 });
    expect(r.renew('scan', 'n1')).toEqual({ kind: 'renewed', token, leaseMs: 500 });
    expect(r.key('scan').hold).toMatchObject({ token, renewed: r.revision });
  });

  it('may change the lease', () => {
    const r = resource();
    r.grant('scan', 'n1');
    expect(r.renew('scan', 'n1', { leaseMs: 900 })).toMatchObject({ leaseMs: 900 });
    expect(r.key('scan').hold).toMatchObject({ leaseMs: 900 });
  });

  it('claims a hold that was handed over', () => {
    const { r, token } = handedOver();
    expect(r.renew('scan', 'n2')).toMatchObject({ kind: 'renewed', token });
    expect(r.key('scan').hold).toMatchObject({ claimed: true });
  });

  it('is refused as an unlock would be', () => {
    const r = resource();
    expect(r.renew('scan', 'n1')).toMatchObject(refusal('LOCK_NOT_FOUND'));
    const token = r.grant('scan', 'n1/s1');
    expect(r.renew('scan', 'n2', { token })).toMatchObject(refusal('NOT_HOLDER'));
    expect(r.renew('scan', 'n1')).toMatchObject(refusal('NOT_HOLDER'));
    expect(r.renew('scan', 'n1/s1', { token: token + 1 })).toMatchObject(refusal('STALE_TOKEN'));
    expect(r.renew('scan', 'n1/s1', { sessionEnded: true })).toMatchObject(refusal('SESSION_NOT_FOUND'));
    expect(r.renew('scan', 'n1', { token })).toMatchObject({ kind: 'renewed' });
  });
});

describe('the expiry of a hold', () => {
  it('is a failure: the next waiter takes over', () => {
    const { r, token } = queueOfTwo();
    expect(r.expireHold('scan', token, token)).toBe(true);
    expect(r.told).toEqual(['expired scan n1', 'assigned scan n2']);
    expect(r.events[0]).toMatchObject({ token, error: 'expired', observersOnly: true });
  });

  it.each(['renew', 'acquire', 'claim'] as const)('is void after a later %s', (how) => {
    const { r, token } = handedOver();
    r[how]('scan', 'n2');
    const { state } = r;
    expect(r.expireHold('scan', token, token)).toBe(false);
    expect(r.state).toBe(state);
  });

  it('takes effect if it has seen the last renewal', () => {
    const { r, token } = queueOfTwo();
    r.renew('scan', 'n1');
    expect(r.expireHold('scan', token, r.revision)).toBe(true);
    expect(r.holder('scan')).toBe('n2');
  });

  it('is void after a renewal in the same commit', () => {
    const { r, token } = queueOfTwo();
    r.combine(
      { kind: 'renew', type: 'scan', asker: { nodeId: 'n1' } },
      { kind: 'expire-hold', type: 'scan', token, renewed: token, error: 'late' },
    );
    expect(r.holder('scan')).toBe('n1');
  });

  it('is void for a hold that has passed on, or was never there', () => {
    const { r, token } = queueOfTwo();
    r.fail('scan', 'n1');
    expect(r.expireHold('scan', token, r.revision)).toBe(false);
    expect(r.expireHold('update', token, token)).toBe(false);
    expect(r.holder('scan')).toBe('n2');
  });
});

describe('a claim', () => {
  it('confirms a hold that was handed over, once', () => {
    const { r, token } = handedOver();
    expect(r.claim('scan', 'n2')).toBe(true);
    expect(r.key('scan').hold).toMatchObject({ claimed: true, token, renewed: r.revision });
    const { state } = r;
    expect(r.claim('scan', 'n2')).toBe(false);
    expect(r.state).toBe(state);
  });

  it('by another asker says nothing', () => {
    const { r } = handedOver();
    expect(r.claim('scan', 'n2/s1')).toBe(false);
    expect(r.claim('scan', 'n1')).toBe(false);
    expect(r.key('scan').hold).toMatchObject({ claimed: false });
  });

  it('by a waiter writes it again only when asked to', () => {
    const { r, ticket } = queueOfTwo();
    const { state } = r;
    expect(r.claim('scan', 'n2')).toBe(false);
    expect(r.state).toBe(state);
    expect(r.claim('scan', 'n2', { touch: true })).toBe(true);
    expect(r.key('scan').lanes[0]!.waiters.first).toMatchObject({ ticket, renewed: r.revision });
  });
});

describe('a withdrawal', () => {
  it('takes the waiter out of the queue and says so', () => {
    const { r } = queueOfTwo();
    expect(r.withdraw('scan', 'n2')).toBe(true);
    expect(r.waiting('scan')).toEqual(['n3']);
    expect(r.told).toEqual(['withdrawn scan n2']);
    expect(r.events[0]).toMatchObject({ error: 'cancelled' });
  });

  it('of somebody who does not wait changes nothing', () => {
    const { r } = queueOfTwo();
    const { state } = r;
    expect(r.withdraw('scan', 'n9')).toBe(false);
    expect(r.withdraw('scan', 'n2/s1')).toBe(false);
    expect(r.state).toBe(state);
  });

  it('by the holder of an unclaimed hold is a failure', () => {
    const { r } = handedOver();
    expect(r.withdraw('scan', 'n2')).toBe(true);
    expect(r.told).toEqual(['released scan n2', 'assigned scan n3']);
    expect(r.events[0]).toMatchObject({ error: 'cancelled' });
  });

  it('does not touch a hold that is claimed', () => {
    const { r } = handedOver();
    r.claim('scan', 'n2');
    expect(r.withdraw('scan', 'n2')).toBe(false);
    expect(r.holder('scan')).toBe('n2');
  });

  it('that names a ticket means only that wait', () => {
    const { r, ticket } = queueOfTwo();
    r.withdraw('scan', 'n2');
    r.queue('scan', 'n2');
    expect(r.withdraw('scan', 'n2', { ticket })).toBe(false);
    expect(r.waiting('scan')).toEqual(['n3', 'n2']);
  });

  it('that names a ticket means also the hold which that wait became, and no other', () => {
    const { r, ticket } = handedOver();
    expect(r.withdraw('scan', 'n2', { ticket: { ...ticket, n: ticket.n + 1 } })).toBe(false);
    expect(r.withdraw('scan', 'n2', { ticket: { ...ticket, revision: ticket.revision + 1 } })).toBe(false);
    expect(r.withdraw('scan', 'n2', { ticket })).toBe(true);
    expect(r.holder('scan')).toBe('n3');
  });

  it('leaves no trace of the queue when nobody is left in it', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.withdraw('scan', 'n2');
    expect(r.key('scan').lanes).toEqual([]);
  });
});

describe('the expiry of a wait', () => {
  it('drops the waiter', () => {
    const { r, ticket } = queueOfTwo();
    expect(r.expireWaiter('scan', 'n2', ticket, ticket.revision)).toBe(true);
    expect(r.waiting('scan')).toEqual(['n3']);
    expect(r.told).toEqual(['withdrawn scan n2']);
  });

  it('is void after the waiter was written again', () => {
    const { r, ticket } = queueOfTwo();
    r.acquire('scan', 'n2', { touch: true });
    expect(r.expireWaiter('scan', 'n2', ticket, ticket.revision)).toBe(false);
    expect(r.expireWaiter('scan', 'n2', ticket, r.revision - 10)).toBe(true);
  });

  it('is void for another wait of the same asker, and for nobody', () => {
    const { r, ticket } = queueOfTwo();
    r.withdraw('scan', 'n2');
    const again = r.queue('scan', 'n2');
    expect(r.expireWaiter('scan', 'n2', ticket, again.revision)).toBe(false);
    expect(r.expireWaiter('scan', 'n9', ticket, ticket.revision)).toBe(false);
    expect(r.waiting('scan')).toEqual(['n3', 'n2']);
  });
});

describe('touch', () => {
  it('writes the waiter again and keeps its place', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const ticket = r.queue('pull', 'n2');
    expect(r.run({ kind: 'touch', type: 'pull', asker: { nodeId: 'n2' } })).toEqual({
      kind: 'noted',
      changed: true,
    });
    const expiry = { kind: 'expire-waiter', type: 'pull', asker: { nodeId: 'n2' }, error: 'x' } as const;
    expect(r.run({ ...expiry, ticket, renewed: ticket.revision })).toEqual({ kind: 'noted', changed: false });
  });

  it('claims nothing and adds nobody', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.fail('pull', 'n1');
    expect(r.run({ kind: 'touch', type: 'pull', asker: { nodeId: 'n2' } })).toEqual({
      kind: 'noted',
      changed: false,
    });
    expect(r.key('pull').hold?.claimed).toBe(false);
  });
});
