import { beforeEach, describe, expect, it } from 'vitest';
import { settled, SimulatedClock } from '../../../test/support/simulated-clock.js';
import { RefusedError, UnavailableError } from '../../client/index.js';
import { Counting } from './counting.js';
import { type Markers } from './markers.js';
import { type ServerLink } from './server-link.js';

const DIGEST = `sha256:${'1'.repeat(64)}`;

let clock: SimulatedClock;
let isMarked: boolean;
/** What the server says when it is asked to count. */
let answer: (signal?: AbortSignal) => Promise<number>;

beforeEach(() => {
  clock = new SimulatedClock();
  isMarked = false;
  answer = async () => 1;
});

const beingDeleted = () => Promise.reject(new RefusedError('LOCK_HELD', 'It is being deleted.'));
const gone = () => Promise.reject(new UnavailableError('UNREACHABLE', 'No answer'));
/** As the client: without an answer until it is not waited for any more. */
const silent = (signal?: AbortSignal) =>
  new Promise<number>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

function countingThat(whenUnreachable: 'proceed' | 'fail'): Counting {
  const link = {
    call: (task: () => Promise<unknown>) => task(),
    client: { refs: { add: (_digest: string, _node: undefined, signal?: AbortSignal) => answer(signal) } },
  } as unknown as ServerLink;
  const markers = {
    set: async () => void (isMarked = true),
    clear: async () => void (isMarked = false),
  } as unknown as Markers;
  return new Counting({ link, markers, whenUnreachable, clock });
}

/** What has come of it by now. */
async function outcomeOf(task: Promise<unknown>): Promise<unknown> {
  let outcome: unknown = 'waits';
  void task.then(
    (value) => (outcome = value),
    (error: Error) => (outcome = error.message),
  );
  await settled();
  return outcome;
}

describe('counting inside containerd’s transaction', () => {
  it('is done where the server answers, and clears the marker', async () => {
    isMarked = true;
    expect(await countingThat('fail').countPromptly(DIGEST)).toBe(true);
    expect([isMarked, clock.pendingTimers]).toEqual([false, 0]);
  });

  it('waits a second for a server that is silent, and is done with a marker', async () => {
    answer = silent;
    const counted = countingThat('proceed').countPromptly(DIGEST);
    await clock.advance(999);
    expect(await outcomeOf(counted)).toBe('waits');
    await clock.advance(1);
    expect(await outcomeOf(counted)).toBe(false);
    expect(isMarked).toBe(true);
  });

  it('waits a second for a server that is silent, and fails where that is wanted', async () => {
    answer = silent;
    const counted = countingThat('fail').countPromptly(DIGEST);
    const outcome = outcomeOf(counted);
    await clock.advance(1000);
    await outcome;
    expect(await outcomeOf(counted)).toContain('has not answered within 1000 ms');
    expect(isMarked).toBe(false);
  });

  it.each(['proceed', 'fail'] as const)('waits for no delete: a marker is enough (%s)', async (what) => {
    answer = beingDeleted;
    expect(await countingThat(what).countPromptly(DIGEST)).toBe(false);
    expect(isMarked).toBe(true);
  });

  it('is done with a marker where no server can be reached, or fails', async () => {
    answer = gone;
    expect(await countingThat('proceed').countPromptly(DIGEST)).toBe(false);
    expect(isMarked).toBe(true);
    await expect(countingThat('fail').countPromptly(DIGEST)).rejects.toThrow('No answer');
  });
});

describe('counting outside it', () => {
  it('waits for a delete for half a minute', async () => {
    answer = beingDeleted;
    const counted = countingThat('proceed').count(DIGEST);
    const outcome = outcomeOf(counted);
    await clock.advance(29_900);
    await outcome;
    expect(await outcomeOf(counted)).toBe('waits');
    answer = async () => 1;
    await clock.advance(100);
    expect(await outcomeOf(counted)).toBe(true);
    expect(isMarked).toBe(false);
  });
});
