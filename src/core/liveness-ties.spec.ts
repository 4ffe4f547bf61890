import { describe, expect, it } from 'vitest';
import { resource } from '../../test/support/resource-driver.js';

/** What a hold or a wait is tied to and goes with: a session, the connection of a poll, a stream. */

describe('the end of a session', () => {
  it('is a failure of its hold', () => {
    const r = resource();
    r.grant('scan', 'n1/s1');
    r.queue('scan', 'n2');
    expect(r.endSession('scan', 'n1/s1')).toBe(true);
    expect(r.told).toEqual(['expired scan n1', 'assigned scan n2']);
    expect(r.events[0]).toMatchObject({ error: 'session over', sessionId: 's1' });
  });

  it('is a withdrawal of its wait', () => {
    const r = resource();
    r.grant('scan', 'n2');
    r.queue('scan', 'n1/s1');
    expect(r.endSession('scan', 'n1/s1')).toBe(true);
    expect(r.told).toEqual(['withdrawn scan n1']);
    expect(r.events[0]).toMatchObject({ sessionId: 's1', error: 'session over' });
  });

  it('is nothing to the same node’s other sessions', () => {
    const r = resource();
    r.grant('scan', 'n1/s1');
    r.queue('scan', 'n1');
    const { state } = r;
    expect(r.endSession('scan', 'n1/s2')).toBe(false);
    expect(r.state).toBe(state);
  });
});

describe('a wait that is polled for at several instances', () => {
  const [here, there] = ['here', 'there'].map((at) => ({ at, deliveredLater: true }));

  /** n1 holds; n2 waits, last asked for it like this. */
  function polled(...requests: { at: string; deliveredLater: boolean }[]) {
    const r = resource();
    r.grant('scan', 'n1');
    for (const request of requests) r.acquire('scan', 'n2', request);
    return { r, withdrawnAt: (polledAt: string) => r.withdraw('scan', 'n2', { polledAt }) };
  }

  it('ends with the connection of its latest poll, and of no other', () => {
    const { withdrawnAt } = polled(here!, there!);
    expect(withdrawnAt('here')).toBe(false);
    expect(withdrawnAt('there')).toBe(true);
  });

  it('has become a hold that depends on that one, too, until it is claimed', () => {
    const { r, withdrawnAt } = polled(here!, there!);
    r.fail('scan', 'n1');
    expect(withdrawnAt('here')).toBe(false);
    expect(r.holder('scan')).toBe('n2');
    expect(withdrawnAt('there')).toBe(true);
  });

  it('depends on no connection after a plain request elsewhere', () => {
    const { r, withdrawnAt } = polled(here!, { at: 'there', deliveredLater: false });
    for (const at of ['here', 'there']) expect(withdrawnAt(at)).toBe(false);
    expect(r.waiting('scan')).toEqual(['n2']);
  });

  it('costs a write when the poll has moved, and not when it is repeated', () => {
    const { r } = polled(here!, there!);
    const { state } = r;
    r.acquire('scan', 'n2', there!);
    r.acquire('scan', 'n2', { at: 'there' });
    expect(r.state).toBe(state);
    r.acquire('scan', 'n2', { at: 'here' });
    const plain = r.state;
    expect(plain).not.toBe(state);
    for (const at of ['here', 'there']) r.acquire('scan', 'n2', { at });
    expect(r.state).toBe(plain);
  });
});

describe('a binding to a stream', () => {
  /** n1 holds, n2 waits. */
  function holdAndWait() {
    const r = resource();
    r.grant('scan', 'n1');
    return { r, ticket: r.queue('scan', 'n2') };
  }

  it('is kept with the hold and does not renew it', () => {
    const r = resource();
    const token = r.grant('scan', 'n1');
    expect(r.bind('scan', 'n1')).toBe(true);
    expect(r.key('scan').hold).toMatchObject({ boundAt: '', renewed: token });
    expect(r.bind('scan', 'n1')).toBe(false);
  });

  it('is kept with the wait, and with the hold it becomes', () => {
    const { r, ticket } = holdAndWait();
    expect(r.bind('scan', 'n2')).toBe(true);
    expect(r.key('scan').lanes[0]!.waiters.first).toMatchObject({ boundAt: '', renewed: ticket.revision });
    expect(r.bind('scan', 'n2')).toBe(false);
    r.fail('scan', 'n1');
    expect(r.key('scan').hold).toMatchObject({ nodeId: 'n2', boundAt: '' });
  });

  it('moves with the stream, and then cannot be ended for want of the older one', () => {
    const { r, ticket } = holdAndWait();
    const [hold, wait] = ['n1', 'n2'].map((nodeId) => ({ type: 'scan', asker: { nodeId }, error: 'gone' }));
    for (const at of ['here', 'there']) for (const who of ['n1', 'n2']) r.bind('scan', who, at);
    const { token, renewed } = r.key('scan').hold!;
    const ends = (boundAt: string) => [
      r.run({ kind: 'expire-waiter', ...wait!, ticket, renewed: ticket.revision, boundAt }).changed,
      r.run({ kind: 'expire-hold', ...hold!, token, renewed, boundAt }).changed,
    ];
    expect(ends('here')).toEqual([false, false]);
    expect(ends('there')).toEqual([true, true]);
  });

  it('of somebody who neither holds nor waits changes nothing', () => {
    const { r } = holdAndWait();
    expect(r.bind('scan', 'n9')).toBe(false);
  });
});
