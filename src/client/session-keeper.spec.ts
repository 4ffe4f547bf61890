import { describe, expect, it, vi } from 'vitest';
import { ScriptedSender } from '../../test/support/scripted-sender.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { Caller } from './caller.js';
import { ClosedError } from './errors.js';
import { HeldLock } from './hold.js';
import { Retries } from './retries.js';
import { SessionKeeper } from './session-keeper.js';
import { Tries } from './tries.js';

const SERVERS = [new URL('http://a'), new URL('http://b')];
const TTL_MS = 9000;
const OPENED = { session_id: 's', ttl_ms: TTL_MS };

function unopened({ stopWithinMs = 0, sessionTtlMs }: { stopWithinMs?: number; sessionTtlMs?: number } = {}) {
  const clock = new SimulatedClock();
  const sender = new ScriptedSender(clock);
  const retries = new Retries({ maxRetries: 3, retryIntervalMs: 1000 }, 1);
  const caller = new Caller(sender, retries, clock, new AbortController().signal);
  const listener = { renewed: vi.fn(), lost: vi.fn() };
  const settings = { serverUrls: SERVERS, nodeId: 'n1', sessionTtlMs, stopWithinMs, clock };
  return { clock, sender, listener, keeper: new SessionKeeper(settings, caller, sender, listener) };
}

async function scene(delayMs = 0, stopWithinMs = 0) {
  const { clock, sender, listener, keeper } = unopened({ stopWithinMs });
  const opening = keeper.open(new Tries());
  await settled();
  await clock.advance(delayMs);
  sender.last.answer(200, OPENED);
  const session = await opening;
  const onLost = vi.fn();
  const hold = new HeldLock('update', 'layer', 1, session, clock, onLost);
  return { clock, sender, keeper, session, hold, listener, onLost };
}

describe('the session of a client', () => {
  it('is opened once for calls that come together', async () => {
    const { sender, keeper } = unopened({ sessionTtlMs: 5000 });
    expect(keeper.current).toBeUndefined();
    const opening = [keeper.open(new Tries()), keeper.open(new Tries())];
    await settled();
    expect(sender.sent).toHaveLength(1);
    expect(JSON.parse(sender.last.body!)).toEqual({ node_id: 'n1', ttl_ms: 5000 });
    sender.last.answer(200, OPENED);
    const [one, two] = await Promise.all(opening);
    expect(one).toBe(two);
    expect(keeper.current).toBe(one);
  });

  it('tells how many batches the server likes side by side; an older one does not say', async () => {
    const { keeper, session, sender } = await scene();
    expect(keeper.parallelBatches).toBe(1);
    keeper.lost(session);
    for (const [said, taken] of [
      [2, 2],
      ['many', 1],
      [1.5, 1],
      [0, 1],
    ] as const) {
      const opening = keeper.open(new Tries());
      await settled();
      sender.last.answer(200, { ...OPENED, parallel_batches: said });
      keeper.lost(await opening);
      expect(keeper.parallelBatches).toBe(taken);
    }
  });

  it('is renewed at a third of its time to live, for as long as it is answered', async () => {
    const { clock, sender, hold } = await scene();
    for (let renewals = 1; renewals <= 5; renewals++) {
      await clock.advance(2999);
      expect(sender.sent).toHaveLength(renewals);
      await clock.advance(1);
      expect(sender.last.path).toBe('/sessions/s/renew');
      sender.last.answer(200, { renewed: true, session_id: 's', ttl_ms: TTL_MS });
      await settled();
    }
    expect(hold.isLost).toBe(false);
  });

  it('is valid from the sending of what was answered, not from the answer', async () => {
    const { clock, hold } = await scene(4000);
    await clock.advance(0.9 * TTL_MS - 4000 - 1);
    expect(hold.isLost).toBe(false);
    await clock.advance(1);
    expect(hold.signal.aborted).toBe(true);
  });

  it('loses its holds earlier where work needs time to stop, and gives nothing up before that is over', async () => {
    const { clock, sender, hold } = await scene(0, 2000);
    const { signal } = hold;
    await clock.advance(0.9 * TTL_MS - 2000 - 1);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    await clock.advance(1999);
    expect(sender.sent.filter(({ method }) => method === 'DELETE')).toHaveLength(0);
    await clock.advance(1);
    expect(sender.last).toMatchObject({ method: 'DELETE', path: '/sessions/s' });
  });

  it('loses its holds before the server can have ended it', async () => {
    const { clock, sender, session, hold, listener, onLost } = await scene();
    const { signal } = hold;
    await clock.advance(0.9 * TTL_MS - 1);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(clock.monotonicMs()).toBeLessThan(TTL_MS);
    expect(onLost).toHaveBeenCalledWith(hold);
    expect(listener.lost).toHaveBeenCalledWith(session);
    expect(sender.last).toMatchObject({ method: 'DELETE', path: '/sessions/s' });
  });

  it('tries a renewal again that failed, and goes on when one gets through', async () => {
    const { clock, sender, hold } = await scene();
    await clock.advance(3000);
    sender.last.answer(503);
    await settled();
    await clock.advance(750);
    sender.last.answer(0);
    await settled();
    await clock.advance(750);
    expect(sender.sent).toHaveLength(4);
    sender.last.answer(200);
    await settled();
    await clock.advance(0.9 * TTL_MS - 1);
    expect(hold.isLost).toBe(false);
    await clock.advance(1);
    expect(hold.isLost).toBe(true);
  });

  it('tries again at the same pace while no try is answered at all', async () => {
    const { clock, sender, hold } = await scene(0, TTL_MS / 5);
    await clock.advance(0.7 * TTL_MS - 1);
    expect(sender.sent.filter(({ path }) => path === '/sessions/s/renew')).toHaveLength(5);
    sender.last.answer(200);
    await settled();
    await clock.advance(1);
    expect(hold.isLost).toBe(false);
  });

  it('is not set back by the late answer to an earlier try', async () => {
    const { clock, sender, hold } = await scene();
    await clock.advance(3000);
    const first = sender.last;
    await clock.advance(750);
    sender.last.answer(200);
    await settled();
    first.answer(200);
    await settled();
    await clock.advance(0.9 * TTL_MS - 1);
    expect(hold.isLost).toBe(false);
    await clock.advance(1);
    expect(hold.isLost).toBe(true);
  });

  it('counts a renewal from its sending too', async () => {
    const { clock, sender, hold } = await scene();
    await clock.advance(3000);
    const renewal = sender.last;
    await clock.advance(2000);
    renewal.answer(200);
    await settled();
    await clock.advance(0.9 * TTL_MS - 2000 - 1);
    expect(hold.isLost).toBe(false);
    await clock.advance(1);
    expect(hold.isLost).toBe(true);
  });

  it('does not count a renewal answered after its time was over', async () => {
    const { clock, sender, keeper, hold } = await scene();
    await clock.advance(3000);
    const renewal = sender.last;
    await clock.advance(0.9 * TTL_MS - 3000);
    renewal.answer(200);
    await settled();
    expect(hold.isLost).toBe(true);
    expect(keeper.current).toBeUndefined();
  });

  it('is over when the server does not know it, and the next call opens another', async () => {
    const { clock, sender, keeper, hold } = await scene();
    await clock.advance(3000);
    sender.last.answer(403, { code: 'SESSION_NOT_FOUND', message: 'gone' });
    await settled();
    expect(hold.isLost).toBe(true);
    expect(keeper.current).toBeUndefined();
    const opening = keeper.open(new Tries());
    await settled();
    sender.last.answer(200, { session_id: 's2', ttl_ms: TTL_MS });
    expect((await opening).id).toBe('s2');
  });

  it('is known to be over on waking, before any timer has fired', async () => {
    const { clock, keeper, hold } = await scene();
    const waking = clock.pause(60_000);
    expect(hold.isLost).toBe(true);
    expect(keeper.current).toBeUndefined();
    await waking;
  });
});

describe('a session that is being opened', () => {
  function unopened(stopWithinMs = 0) {
    const clock = new SimulatedClock();
    const sender = new ScriptedSender(clock);
    const retries = new Retries({ maxRetries: 3, retryIntervalMs: 1000 }, 1);
    const caller = new Caller(sender, retries, clock, new AbortController().signal);
    const settings = { serverUrls: SERVERS, nodeId: 'n1', sessionTtlMs: undefined, stopWithinMs, clock };
    const keeper = new SessionKeeper(settings, caller, sender, { renewed: vi.fn(), lost: vi.fn() });
    return { clock, sender, keeper };
  }

  it('and that work could not be stopped in is refused, and ended', async () => {
    const { sender, keeper } = unopened(TTL_MS / 2 + 1);
    const opening = expect(keeper.open(new Tries())).rejects.toMatchObject({
      code: 'STOP_WITHIN_TOO_LONG',
      request: { method: 'POST', path: '/sessions', body: '{"node_id":"n1"}' },
      attempts: [{ status: 200 }],
    });
    await settled();
    sender.last.answer(200, OPENED);
    await opening;
    await settled();
    expect(keeper.current).toBeUndefined();
    expect(sender.last).toMatchObject({ method: 'DELETE', path: '/sessions/s' });
  });

  it('does not keep anybody waiting when the client is closed', async () => {
    const { clock, sender, keeper } = unopened();
    const opening = expect(keeper.open(new Tries())).rejects.toBeInstanceOf(ClosedError);
    await settled();
    const closed = vi.fn();
    void keeper.close().then(closed);
    await opening;
    await clock.advance(4999);
    expect(closed).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(closed).toHaveBeenCalled();
    expect(sender.sent).toHaveLength(1);
  });

  it('when the client is closed is ended as soon as it is known', async () => {
    const { sender, keeper } = unopened();
    keeper.open(new Tries()).catch(() => undefined);
    await settled();
    void keeper.close();
    sender.last.answer(200, OPENED);
    await settled();
    expect(sender.last).toMatchObject({ method: 'DELETE', path: '/sessions/s' });
  });
});

it('a session that cannot be ended when the client is closed is tried at each server once', async () => {
  const { sender, keeper } = await scene();
  const before = sender.sent.length;
  let isClosed = false;
  void keeper.close().then(() => (isClosed = true));
  await settled();
  sender.last.answer(503);
  await settled();
  expect(isClosed).toBe(false);
  sender.last.answer(0);
  await settled();
  const tries = sender.sent.slice(before);
  expect(tries.map(({ method, options }) => [method, options.timeoutMs])).toEqual([
    ['DELETE', 2500],
    ['DELETE', 2500],
  ]);
  expect(isClosed).toBe(true);
});

describe('a hold', () => {
  it('with a lease is lost with that, if it ends before the session', async () => {
    const { clock, session } = await scene();
    const hold = new HeldLock('update', 'other', 2, session, clock, vi.fn());
    hold.leaseFrom(clock.monotonicMs(), 1000);
    const { signal } = hold;
    await clock.advance(899);
    expect(signal.aborted).toBe(false);
    hold.leaseFrom(clock.monotonicMs(), 1000);
    await clock.advance(899);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it('that is released cannot be lost any more', async () => {
    const { clock, hold, onLost } = await scene();
    hold.settle();
    await clock.advance(60_000);
    expect([hold.isLost, hold.signal.aborted]).toEqual([false, false]);
    expect(onLost).not.toHaveBeenCalled();
  });
});
