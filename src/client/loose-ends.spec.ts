import { describe, expect, it } from 'vitest';
import { dispatchOver, ScriptedSender } from '../../test/support/scripted-sender.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { Batcher } from './batcher.js';
import { Caller } from './caller.js';
import { UnavailableError } from './errors.js';
import { KeyTurns } from './key-turn.js';
import { LooseEnds } from './loose-ends.js';
import { Retries } from './retries.js';
import { Session } from './session.js';

const KEY = { type: 'update', resourceId: 'layer' };
const HOLD = { ...KEY, token: 7 };
const NAME = 'update:layer';
const NOT_HELD = { code: 'LOCK_NOT_FOUND', message: 'nobody holds it' };
const STATUS = { acquired: false, completed: false, success: false, held: false, queue_length: 0 };
const HELD = { ...STATUS, acquired: true, held: true, holder: { token: 8 } };

function scene() {
  const clock = new SimulatedClock();
  const sender = new ScriptedSender(clock);
  const retries = new Retries({ maxRetries: 0, retryIntervalMs: 1 }, 1);
  const { signal } = new AbortController();
  const turns = new KeyTurns();
  const unlocks = new Batcher('/unlock', dispatchOver(sender, { retries, clock, closing: signal }));
  const ends = new LooseEnds(unlocks, new Caller(sender, retries, clock, signal), turns);
  const paths = () => sender.sent.map(({ path }) => path);
  const answer = async (status: number, body?: unknown) => {
    await settled();
    sender.last.answer(status, body);
    await settled();
  };
  return { sender, turns, ends, paths, answer, session: new Session('s', 1000, '', 0) };
}

async function leaveOne({ answer, turns, ends, session }: ReturnType<typeof scene>) {
  void ends.giveUp(session, HOLD, turns.take(NAME)!);
  await answer(503);
}

describe('a loose end', () => {
  it('that is a hold is released by its token, and the key is free after that', async () => {
    const { sender, turns, ends, paths, answer, session } = scene();
    void ends.giveUp(session, HOLD, turns.take(NAME)!);
    await settled();
    expect(turns.take(NAME)).toBeUndefined();
    expect(JSON.parse(sender.last.body!)).toMatchObject({ token: 7, success: false });
    await answer(200);
    expect(paths()).toEqual(['/unlock']);
    expect(turns.take(NAME)).toBeDefined();
  });

  it('that the server has ended already is ended', async () => {
    const { turns, ends, answer, session } = scene();
    void ends.giveUp(session, HOLD, turns.take(NAME)!);
    await answer(403, NOT_HELD);
    expect(turns.take(NAME)).toBeDefined();
    await expect(ends.end(NAME)).resolves.toBeUndefined();
  });

  it('that may be a wait is cancelled', async () => {
    const { turns, ends, paths, answer, session } = scene();
    void ends.giveUp(session, KEY, turns.take(NAME)!);
    await answer(200);
    await answer(200, STATUS);
    expect(paths()).toEqual(['/lock/cancel', '/lock/status']);
    expect(turns.take(NAME)).toBeDefined();
  });

  it('that turns out to be a hold is released by the token it has there, never without one', async () => {
    const { sender, turns, ends, paths, answer, session } = scene();
    void ends.giveUp(session, KEY, turns.take(NAME)!);
    await answer(200);
    await answer(200, HELD);
    expect(paths()).toEqual(['/lock/cancel', '/lock/status', '/unlock']);
    expect(JSON.parse(sender.last.body!)).toMatchObject({ token: 8, success: false });
  });

  it('is left alone when its turn has passed on: a later hold of the key is not its own', async () => {
    const { sender, turns, ends, session } = scene();
    const turn = turns.take(NAME)!;
    turns.leave(turn);
    turns.take(NAME);
    void ends.giveUp(session, HOLD, turn);
    await settled();
    expect(sender.sent).toEqual([]);
  });

  it('that could not be given up is tried again when the server is back', async () => {
    const stage = scene();
    await leaveOne(stage);
    stage.ends.tryAgain(stage.session);
    await settled();
    expect(stage.paths()).toEqual(['/unlock', '/unlock']);
    await stage.answer(200);
    stage.ends.tryAgain(stage.session);
    await settled();
    expect(stage.sender.sent).toHaveLength(2);
  });

  it('is ended before the key is asked for again, or that is refused', async () => {
    const stage = scene();
    await leaveOne(stage);
    const failing = stage.ends.end(NAME);
    failing.catch(() => undefined);
    await stage.answer(503);
    await expect(failing).rejects.toBeInstanceOf(UnavailableError);
    const ending = stage.ends.end(NAME);
    await stage.answer(403, NOT_HELD);
    await ending;
    await stage.ends.end(NAME);
    expect(stage.sender.sent).toHaveLength(3);
  });

  it('is left to whoever wants the key again', async () => {
    const stage = scene();
    await leaveOne(stage);
    stage.turns.take(NAME);
    stage.ends.tryAgain(stage.session);
    await settled();
    expect(stage.sender.sent).toHaveLength(1);
  });

  it('keeps the key to itself while it is tried again', async () => {
    const stage = scene();
    await leaveOne(stage);
    stage.ends.tryAgain(stage.session);
    expect(stage.turns.take(NAME)).toBeUndefined();
  });

  it('ends with its session', async () => {
    const stage = scene();
    await leaveOne(stage);
    stage.ends.forget(stage.session);
    stage.ends.tryAgain(stage.session);
    await settled();
    expect(stage.sender.sent).toHaveLength(1);
  });

  it('of a session that is over is none', async () => {
    const { sender, turns, ends, session } = scene();
    session.isOver = true;
    void ends.giveUp(session, HOLD, turns.take(NAME)!);
    await settled();
    expect(sender.sent).toEqual([]);
    expect(turns.take(NAME)).toBeDefined();
  });
});
