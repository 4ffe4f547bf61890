import { describe, expect, it, onTestFinished } from 'vitest';
import { SimulatedClock } from '../../../test/support/simulated-clock.js';
import { EtcdMembers } from './etcd-members.js';
import { etcdSettings } from './etcd-settings.js';

const TIMEOUT_MS = 3000;
const AWAY = new Error('14 UNAVAILABLE: No connection established');

/** Members that nobody connects to, and what a read of them is told by which one. */
function scene() {
  const clock = new SimulatedClock();
  const members = new EtcdMembers(etcdSettings(`etcd://a,b,c?timeout_ms=${TIMEOUT_MS}`), clock);
  onTestFinished(() => members.close());
  const leftMs: number[] = [];
  const read = (each: () => void): Promise<unknown> =>
    members
      .read('get', async (_client, { deadline }) => {
        leftMs.push(deadline - clock.wallMs());
        each();
        throw AWAY;
      })
      .catch((error: unknown) => error);
  return { clock, leftMs, read };
}

describe('a call to the members of a cluster', () => {
  it('goes to each while there is time, and each has what is left of it', async () => {
    const { clock, leftMs, read } = scene();
    await read(() => void clock.pause(1000));
    expect(leftMs).toEqual([3000, 2000, 1000]);
  });

  it('ends when its time is over', async () => {
    const { clock, leftMs, read } = scene();
    await read(() => void clock.pause(2000));
    expect(leftMs).toEqual([3000, 1000]);
  });

  it.each([3_600_000, -3_600_000])('is not misled by a wall clock that is set by %i ms', async (byMs) => {
    const { clock, leftMs, read } = scene();
    await read(() => clock.setWall(clock.wallMs() + byMs));
    expect(leftMs).toEqual([3000, 3000, 3000]);
  });
});
