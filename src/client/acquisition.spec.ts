import { describe, expect, it } from 'vitest';
import { dispatchOver, ScriptedSender } from '../../test/support/scripted-sender.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { Acquisition, type AcquisitionParts } from './acquisition.js';
import { Batcher } from './batcher.js';
import { Caller } from './caller.js';
import { Ears } from './ears.js';
import { KeyTurns } from './key-turn.js';
import { type LooseEnds } from './loose-ends.js';
import { type Reply } from './reply.js';
import { type LockRequest } from './requests.js';
import { Retries } from './retries.js';
import { Session } from './session.js';
import { type SessionKeeper } from './session-keeper.js';
import { Tries } from './tries.js';
import { type Waiting } from './waiting.js';

const CLAIM_MS = 900;
const TICKET_REVISION = 50;
const QUEUED = { acquired: false, skip: false, position: 1, ticket: `${TICKET_REVISION}.0.k.n` };
const GRANTED = { acquired: true, skip: false, token: 60 };
const NEWS = { type: 'update', resource_id: 'r', node_id: 'n', session_id: 's', token: 60 };

/** A client that has been told its place in the queue, and hears of its key by the stream or a long poll. */
async function queued({ leaseMs, claim = CLAIM_MS }: { leaseMs?: number; claim?: number | null } = {}) {
  const clock = new SimulatedClock();
  const sender = new ScriptedSender(clock);
  const { signal } = new AbortController();
  const session = new Session('s', 60_000, ',"node_id":"n"', 0);
  const retries = new Retries({ maxRetries: 0, retryIntervalMs: 1 }, 1);
  const turns = new KeyTurns();
  let answerPoll!: (reply: Reply) => void;
  const polled = new Promise<Reply>((resolve) => (answerPoll = resolve));
  const ears = new Ears(
    turns,
    () => undefined,
    () => undefined,
  );
  const givenUp: unknown[] = [];
  const parts = {
    clock,
    sessions: { current: session } as unknown as SessionKeeper,
    locks: new Batcher('/lock', dispatchOver(sender, { retries, clock, closing: signal })),
    caller: new Caller(sender, retries, clock, signal),
    waiting: {
      untilNews: () => Promise.race([polled, turn.heard(signal).then(() => undefined)]),
    } as unknown as Waiting,
    looseEnds: { giveUp: (_: Session, what: unknown) => givenUp.push(what) } as unknown as LooseEnds,
  } satisfies AcquisitionParts;
  const turn = turns.take('update:r')!;
  ears.snapshot(session, [{ holds: [], waits: [], claim_timeout_ms: claim ?? undefined }]);
  const request: LockRequest = { type: 'update', resourceId: 'r', leaseMs };
  const result = new Acquisition(parts, request, turn, signal, new Tries()).untilSettled();
  await settled();
  sender.last.answer(200, QUEUED);
  await settled();
  const tell = async (name: string, data = {}) => {
    ears.event(session, name, { ...NEWS, ...data });
    await settled();
  };
  const poll = async (reply: Partial<Reply>) => {
    answerPoll(reply as Reply);
    await settled();
  };
  return { clock, sender, ears, session, result, tell, poll, givenUp };
}

describe('a lock that is handed over', () => {
  it('is held as soon as the stream has told it, without another word', async () => {
    const { sender, result, tell } = await queued();
    await tell('assigned');
    const { hold } = await result;
    expect(hold).toMatchObject({ token: 60, isLost: false });
    expect(sender.sent).toHaveLength(1);
  });

  it('is claimed after a third of the time for it, and then lasts as long as the session', async () => {
    const { clock, sender, result, tell } = await queued();
    await clock.advance(100);
    await tell('assigned');
    const { hold } = await result;
    await clock.advance(199);
    expect(sender.sent).toHaveLength(1);
    await clock.advance(1);
    expect(sender.last.path).toBe('/lock/status');
    const status = { completed: false, success: false, held: true, queue_length: 0 };
    sender.last.answer(200, { ...status, acquired: true, holder: { token: 60 } });
    await settled();
    await clock.advance(10_000);
    expect(hold!.isLost).toBe(false);
  });

  it('is lost before the time for it is over when it cannot be claimed', async () => {
    const { clock, result, tell, givenUp } = await queued();
    await tell('assigned');
    const { hold } = await result;
    await clock.advance(809);
    expect(hold!.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(hold!.signal.reason).toMatchObject({ code: 'HOLD_LOST' });
    expect(givenUp).toEqual([hold]);
  });

  it('is lost when the server does not know it any more', async () => {
    const { clock, sender, result, tell } = await queued();
    await tell('assigned');
    const { hold } = await result;
    await clock.advance(300);
    const status = { completed: false, success: false, held: true, queue_length: 0 };
    sender.last.answer(200, { ...status, acquired: false, holder: { token: 61 } });
    await settled();
    expect(hold!.isLost).toBe(true);
  });

  it('needs no claim where the server wants none', async () => {
    const { clock, sender, result, tell } = await queued({ claim: 0 });
    await clock.advance(20_000);
    await tell('assigned');
    const { hold } = await result;
    await clock.advance(20_000);
    expect(hold!.isLost).toBe(false);
    expect(sender.sent).toHaveLength(1);
  });

  it.each([
    ['it may have been handed over long ago', {}, 300, NEWS],
    ['the news is of an earlier wait', {}, 0, { token: TICKET_REVISION - 1 }],
    ['it has a lease, which began at an unknown time', { leaseMs: 5000 }, 0, NEWS],
    ['it is not known how long it may stay unclaimed', { claim: null }, 0, NEWS],
    ['the news is without a token', {}, 0, { token: undefined }],
  ])('is asked for when %s', async (_why, options, afterMs, data) => {
    const { clock, sender, tell } = await queued(options);
    await clock.advance(afterMs);
    await tell('assigned', data);
    expect(sender.sent.map(({ path }) => path)).toEqual(['/lock', '/lock']);
  });

  it('is asked for when more has happened since, or may have', async () => {
    for (const then of ['expired', 'snapshot']) {
      const { ears, session, sender } = await queued();
      ears.event(session, 'assigned', NEWS);
      if (then === 'snapshot') ears.snapshot(session, [{ holds: [], waits: [], claim_timeout_ms: CLAIM_MS }]);
      else ears.event(session, then, NEWS);
      await settled();
      expect(sender.sent).toHaveLength(2);
    }
  });
});

it('a lease that was granted to a long poll counts from asking again, not from when the poll was sent', async () => {
  const { clock, sender, result, poll } = await queued({ leaseMs: 5000 });
  await clock.advance(15_000);
  await poll({ sentAtMs: 0, ms: 15_000, status: 200, body: { ...GRANTED, lease_ms: 5000 } });
  expect(sender.sent).toHaveLength(2);
  sender.last.answer(200, { ...GRANTED, lease_ms: 5000 });
  const { hold } = await result;
  expect(hold!.isLost).toBe(false);
  await clock.advance(4500);
  expect(hold!.isLost).toBe(true);
});

it('a lock whose session ends whenever it is granted is lost, and the error tells the last try', async () => {
  const clock = new SimulatedClock();
  const sender = new ScriptedSender(clock);
  const { signal } = new AbortController();
  const retries = new Retries({ maxRetries: 0, retryIntervalMs: 1 }, 1);
  const sessions = {
    get current() {
      return new Session('s', 60_000, ',"node_id":"n"', 0);
    },
  };
  const locks = new Batcher('/lock', dispatchOver(sender, { retries, clock, closing: signal }));
  const parts = { clock, sessions, locks } as unknown as AcquisitionParts;
  const turn = new KeyTurns().take('update:r')!;
  const asking = new Acquisition(
    parts,
    { type: 'update', resourceId: 'r' },
    turn,
    signal,
    new Tries(),
  ).once();
  const error = asking.catch((cause: unknown) => cause);
  for (let tries = 0; tries < 4; tries++) {
    await settled();
    sender.last.answer(200, GRANTED);
  }
  expect(await error).toMatchObject({
    code: 'HOLD_LOST',
    request: { method: 'POST', path: '/lock', body: sender.last.body },
    attempts: [{ status: 200 }],
  });
});
