import { describe, expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../../test/support/simulated-clock.js';
import { type LockStatus } from '../../client/index.js';
import { LockWait } from './lock-wait.js';

const REQUEST = { type: 'update', resourceId: 'site' };

const QUEUED: LockStatus = {
  acquired: false,
  completed: false,
  success: false,
  held: true,
  holder: {
    nodeId: 'n1',
    requestedAt: '',
    acquiredAt: new Date(Date.now() - 250_000).toISOString(),
    token: 7,
  },
  position: 2,
  queueLength: 2,
  referenceCount: 0,
};

const { holder: _, ...FREE } = QUEUED;

function scene(status: () => Promise<LockStatus>) {
  const clock = new SimulatedClock();
  const said: string[] = [];
  const client = { status: vi.fn(status) };
  const wait = new LockWait(client, REQUEST, clock, (what) => said.push(what));
  return { clock, said, client, wait };
}

describe('a wait for a lock', () => {
  it('is told once, after a second', async () => {
    const { clock, said } = scene(async () => QUEUED);
    await clock.advance(999);
    expect(said).toEqual([]);
    await clock.advance(1);
    await clock.advance(600_000);
    expect(said).toEqual(['Waiting for update site: held by n1 for 4 min, position 2']);
  });

  it('is not told when it was short', async () => {
    const { clock, client, wait } = scene(async () => QUEUED);
    await clock.advance(999);
    wait.over();
    await clock.advance(10_000);
    expect(client.status).not.toHaveBeenCalled();
  });

  it('is not told when it ended while somebody looked', async () => {
    let answer!: (status: LockStatus) => void;
    const { clock, said, wait } = scene(() => new Promise((resolve) => (answer = resolve)));
    await clock.advance(1000);
    wait.over();
    answer(QUEUED);
    await clock.advance(0);
    expect(said).toEqual([]);
  });

  it.each([
    ['it has the lock by now', async () => ({ ...QUEUED, acquired: true, position: undefined! })],
    ['nobody answers', () => Promise.reject(new Error('no'))],
  ])('is not told when %s', async (_name, status) => {
    const { clock, said } = scene(status);
    await clock.advance(1000);
    expect(said).toEqual([]);
  });

  it('for a resource that is busy otherwise is told as that', async () => {
    const { clock, said } = scene(async () => ({ ...FREE, held: false }));
    await clock.advance(1000);
    expect(said).toEqual(['Waiting for update site: another operation on it is under way, position 2']);
  });
});

describe('a wait that is over', () => {
  const held = 'held by n1 for 4 min';

  it.each([
    [0, QUEUED, `update site is ${held}: --wait 0 does not queue for it.`],
    [500, QUEUED, `update site was not granted within 500 ms: ${held}; the queue was left.`],
    [0, FREE, 'update site was held: --wait 0 does not queue for it.'],
    [500, { ...QUEUED, acquired: true }, 'update site was not granted within 500 ms; the queue was left.'],
    [500, FREE, 'update site was not granted within 500 ms; the queue was left.'],
  ])('of %i ms names the holder, if there is one', async (waitMs, status, message) => {
    const { wait } = scene(async () => status);
    expect(await wait.notGrantedWithin(waitMs)).toMatchObject({ code: 'WAIT_TIMEOUT', message });
  });

  it('has the trouble with the server as its cause, and does not ask that server for more', async () => {
    const { client, wait } = scene(async () => QUEUED);
    const cause = new Error('the store is away');
    expect(await wait.notGrantedWithin(500, cause)).toMatchObject({
      message: 'update site was not granted within 500 ms.',
      cause,
    });
    expect(client.status).not.toHaveBeenCalled();
  });

  it('is over within a second though nobody tells who holds it', async () => {
    const { clock, wait } = scene(() => new Promise(() => undefined));
    wait.over();
    const end = vi.fn();
    void wait.notGrantedWithin(500).then(end);
    await clock.advance(1000);
    expect(end).toHaveBeenCalledOnce();
  });
});
