import { describe, expect, it } from 'vitest';
import { ScriptedSender } from '../../test/support/scripted-sender.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { Caller } from './caller.js';
import { KeyTurn } from './key-turn.js';
import { Retries } from './retries.js';
import { Session } from './session.js';
import { type SessionStream } from './session-stream.js';
import { Tries } from './tries.js';
import { Waiting } from './waiting.js';

const QUEUED = { acquired: false, skip: false, position: 1, ticket: '5.0' };

/** Somebody waits where no stream comes through. */
function scene() {
  const clock = new SimulatedClock();
  const sender = new ScriptedSender(clock);
  const { signal: end } = new AbortController();
  const caller = new Caller(sender, new Retries({ maxRetries: 0, retryIntervalMs: 1 }, 1), clock, end);
  const stream = { isHeard: () => Promise.resolve(false) } as unknown as SessionStream;
  const waiting = new Waiting(stream, caller, sender, clock);
  const request = { type: 'update', resourceId: 'r' };
  const session = new Session('s', 60_000, ',"node_id":"n"', 0);
  const tries = new Tries();
  const wait = () =>
    waiting.untilNews({ request, session, turn: new KeyTurn('update:r'), ticket: '5.0', end, tries });
  return { clock, sender, tries, wait };
}

/** What comes of a long poll that was answered like this, and how the next wait asks. */
async function afterLongPoll(afterMs: number, status: number, body?: unknown) {
  const { clock, sender, wait } = scene();
  const news = wait();
  await settled();
  expect(sender.last.path).toBe('/lock');
  await clock.advance(afterMs);
  sender.last.answer(status, body);
  const reply = await news;
  void wait();
  await settled();
  await clock.advance(500);
  return { reply, nextAsks: sender.last.path };
}

describe('a wait without a stream', () => {
  it('goes on by long polls while they last', async () => {
    const { reply, nextAsks } = await afterLongPoll(20_000, 200, QUEUED);
    expect(reply).toMatchObject({ status: 200 });
    expect(nextAsks).toBe('/lock');
  });

  it.each([
    ['granted', 200, { acquired: true, skip: false }],
    ['skipped', 200, { acquired: false, skip: true }],
    ['refused', 403, { code: 'OPERATION_FAILED', acquired: false, skip: false }],
  ])('that is %s at once has found long polls in order', async (_how, status, body) => {
    const { reply, nextAsks } = await afterLongPoll(0, status, body);
    expect(reply).toMatchObject({ status, body });
    expect(nextAsks).toBe('/lock');
  });

  it.each([
    ['may not be so long', 400],
    ['are too many', 429],
    ['break', 0],
    ['are answered for the server by something else', 504],
  ])('looks every half second, after it has asked again, where long polls %s', async (_why, status) => {
    expect(await afterLongPoll(0, status)).toEqual({ reply: undefined, nextAsks: '/lock/status' });
  });

  it('looks every half second where long polls are answered at once without news', async () => {
    const { nextAsks } = await afterLongPoll(10, 200, QUEUED);
    expect(nextAsks).toBe('/lock/status');
  });

  it('has each long poll and each look among what was tried for it', async () => {
    const { clock, sender, tries, wait } = scene();
    void wait();
    await settled();
    sender.last.answer(504);
    await settled();
    void wait().catch(() => undefined);
    await settled();
    await clock.advance(500);
    sender.last.answer(200, { completed: false });
    await settled();
    expect(tries.attempts).toMatchObject([{ status: 504 }, { status: 200 }]);
  });
});
