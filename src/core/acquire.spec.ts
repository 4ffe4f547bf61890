import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';
import { MAX_TYPES_PER_RESOURCE } from './limits.js';

describe('a request for a lock', () => {
  it('is refused for a session that has ended, and changes nothing', () => {
    const r = resource();
    const { state } = r;
    expect(r.acquire('pull', 'n1/s1', { sessionEnded: true })).toMatchObject(refusal('SESSION_NOT_FOUND'));
    expect(r.state).toBe(state);
  });

  it('is refused for an ended session even if that session seems to hold the lock', () => {
    const r = resource();
    r.grant('pull', 'n1/s1');
    expect(r.acquire('pull', 'n1/s1', { sessionEnded: true })).toMatchObject(refusal('SESSION_NOT_FOUND'));
  });

  it('is granted on a free key, with the revision of the commit as its token', () => {
    const r = resource();
    expect(r.acquire('pull', 'n1', { subtype: 'big' })).toEqual({
      kind: 'acquired',
      token: r.revision,
      leaseMs: 3_600_000,
      referenceCount: 0,
    });
    expect(r.told).toEqual(['granted pull n1']);
    expect(r.events[0]).toMatchObject({ token: r.revision, observersOnly: false });
    expect(r.key('pull').hold).toMatchObject({
      nodeId: 'n1',
      subtype: 'big',
      requestedAtMs: r.nowMs,
      acquiredAtMs: r.nowMs,
      claimed: true,
      boundAt: undefined,
      ticket: undefined,
    });
  });

  it('takes the lease it names, also one that never ends', () => {
    const r = resource();
    expect(r.acquire('pull', 'n1', { leaseMs: 5000 })).toMatchObject({ leaseMs: 5000 });
    expect(r.acquire('update', 'n1', { leaseMs: 0 })).toMatchObject({ leaseMs: 0 });
  });

  it('of a session has no lease unless it names one: the session is liveness enough', () => {
    const r = resource();
    expect(r.acquire('pull', 'n1/s1')).toMatchObject({ leaseMs: 0 });
    expect(r.acquire('update', 'n1/s1', { leaseMs: 5000 })).toMatchObject({ leaseMs: 5000 });
  });

  it('is granted for operations of other types beside a hold, under operation isolation', () => {
    const r = resource();
    r.grant('pull', 'n1');
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'acquired' });
    expect(r.acquire('scan', 'n3')).toMatchObject({ kind: 'acquired' });
  });
});

describe('a request by the holder', () => {
  it('gets the same token and the same moment of acquisition, with the lease refreshed', () => {
    const r = resource();
    const token = r.grant('pull', 'n1', { leaseMs: 5000 });
    const { acquiredAtMs } = r.key('pull').hold!;
    r.later(100);
    expect(r.acquire('pull', 'n1')).toEqual({ kind: 'acquired', token, leaseMs: 5000, referenceCount: 0 });
    expect(r.key('pull').hold).toMatchObject({ acquiredAtMs, token, renewed: r.revision });
    expect(r.told).toEqual([]);
  });

  it('may change the lease', () => {
    const r = resource();
    r.grant('pull', 'n1');
    expect(r.acquire('pull', 'n1', { leaseMs: 7000 })).toMatchObject({ leaseMs: 7000 });
    expect(r.key('pull').hold).toMatchObject({ leaseMs: 7000 });
  });

  it('claims what was handed to it', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.fail('pull', 'n1');
    expect(r.key('pull').hold).toMatchObject({ nodeId: 'n2', claimed: false });
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'acquired', token: r.revision - 10 });
    expect(r.key('pull').hold).toMatchObject({ nodeId: 'n2', claimed: true });
  });

  it('is judged before references: its own work goes on', () => {
    const r = resource();
    const token = r.grant('delete', 'n1');
    r.grant('pull', 'n2');
    r.succeed('pull', 'n2');
    expect(r.references).toEqual(['n2']);
    expect(r.acquire('delete', 'n1')).toMatchObject({ kind: 'acquired', token });
  });

  it('is another asker when it comes from another session, or from none', () => {
    const r = resource();
    r.grant('pull', 'n1/s1');
    expect(r.acquire('pull', 'n1/s2')).toMatchObject({ kind: 'queued', position: 1 });
    expect(r.acquire('pull', 'n1')).toMatchObject({ kind: 'queued', position: 2 });
  });
});

describe('a request for a key that another asker holds', () => {
  it('is queued with its position and a ticket that names the moment', () => {
    const r = resource();
    r.grant('pull', 'n1');
    expect(r.acquire('pull', 'n2', { subtype: 'big', leaseMs: 9, absent: true })).toEqual({
      kind: 'queued',
      position: 1,
      ticket: { revision: r.revision, n: 0 },
      referenceCount: 0,
    });
    expect(r.told).toEqual(['queued pull n2']);
    expect(r.acquire('pull', 'n3')).toMatchObject({ position: 2 });
    expect([...r.key('pull').lanes[0]!.waiters][0]).toEqual({
      nodeId: 'n2',
      sessionId: undefined,
      subtype: 'big',
      ticket: { revision: r.revision - 10, n: 0 },
      renewed: r.revision - 10,
      requestedAtMs: r.nowMs,
      leaseMs: 9,
      absent: true,
      boundAt: undefined,
    });
  });

  it('keeps its place and its ticket when asked again, and costs no write', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const ticket = r.queue('pull', 'n2');
    r.queue('pull', 'n3');
    const { state } = r;
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'queued', position: 1, ticket });
    expect(r.state).toBe(state);
    expect(r.told).toEqual([]);
  });

  it('is written again when asked to, with its place kept', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const ticket = r.queue('pull', 'n2');
    r.queue('pull', 'n3');
    expect(r.acquire('pull', 'n2', { touch: true })).toMatchObject({ position: 1, ticket });
    expect([...r.key('pull').lanes[0]!.waiters].map(({ renewed }) => renewed)).toEqual([
      r.revision,
      r.revision - 10,
    ]);
  });

  it('is written again when it has a new lease or has looked for the bytes, and keeps what it does not name', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.queue('pull', 'n2', { leaseMs: 4000 });
    expect(r.key('pull').lanes[0]!.waiters.first).toMatchObject({ leaseMs: 4000, absent: false });
    r.queue('pull', 'n2', { absent: true });
    expect(r.key('pull').lanes[0]!.waiters.first).toMatchObject({
      leaseMs: 4000,
      absent: true,
      renewed: r.revision,
    });
  });

  it('is refused instead of queued when several nodes are not allowed, for every type', () => {
    const r = resource({ allowMultiNodeDownload: false });
    for (const type of ['pull', 'update', 'delete', 'scan']) {
      r.grant(type, 'n1');
      expect(r.acquire(type, 'n2')).toEqual({ kind: 'refused', code: 'LOCK_HELD', error: 'held by n1' });
      expect(r.waiting(type)).toEqual([]);
    }
  });

  it('is refused when the queue is full, but not to those who are in it', () => {
    const r = resource({ maxQueueLength: 2, lanes: ['a'] });
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.queue('pull', 'n3', { subtype: 'a' });
    expect(r.acquire('pull', 'n4')).toMatchObject(refusal('QUEUE_FULL'));
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'queued' });
    expect(r.waiting('pull')).toEqual(['n3', 'n2']);
  });
});

describe('a request of yet another type', () => {
  const crowded = () => {
    const r = resource();
    for (let i = 0; i < MAX_TYPES_PER_RESOURCE; i++) r.grant(`type-${i}`, 'n1');
    return r;
  };

  it('is refused when the resource has as many types as it can have', () => {
    expect(crowded().acquire('one-more', 'n1')).toMatchObject(refusal('TOO_MANY_TYPES'));
  });

  it('is refused a place in a new queue too', () => {
    const r = resource({ lockIsolation: 'resource', refcountMode: 'client' });
    r.grant('type-0', 'n1');
    for (let i = 1; i < MAX_TYPES_PER_RESOURCE; i++) r.queue(`type-${i}`, 'n1');
    expect(r.acquire('one-more', 'n1')).toMatchObject(refusal('TOO_MANY_TYPES'));
    expect(r.acquire('type-5', 'n2')).toMatchObject({ kind: 'queued' });
  });

  it('is no concern of the types that are there, and succeeds once one is idle', () => {
    const r = crowded();
    expect(r.acquire('type-0', 'n2')).toMatchObject({ kind: 'queued' });
    r.fail('type-1', 'n1');
    r.forget('type-1');
    expect(r.acquire('one-more', 'n1')).toMatchObject({ kind: 'acquired' });
  });
});
