import { describe, expect, it, vi } from 'vitest';
import { FaultyStore } from '../../test/support/faulty-store.js';
import { type Bench, bench } from '../../test/support/layer.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { MemoryStateStore } from '../stores/memory/memory-state-store.js';

async function instances(count: number): Promise<Bench[]> {
  const clock = new SimulatedClock();
  const inner = new MemoryStateStore(clock);
  await inner.open();
  const start = () => bench({}, { clock, store: new FaultyStore(inner, () => 0, {}, true) });
  return Promise.all(Array.from({ length: count }, start));
}

const commitsOf = (managers: readonly Bench[]) =>
  managers.reduce((sum, { store }) => sum + store.commits.length, 0);

/** Queued one after the other, each answered at once. */
async function queue({ layer }: Bench, ...nodes: string[]): Promise<void> {
  for (const node of nodes) expect((await layer.acquire(node)).kind).toBe('queued');
}

/** A manager whose next waiter has to wait for others. */
async function crowded(): Promise<{ a: Bench; b: Bench; late: Promise<unknown> }> {
  const [a, b] = (await instances(2)) as [Bench, Bench];
  await a.layer.acquire('n0');
  await queue(b, 'n1', 'n2', 'n3', 'n4');
  const late = b.layer.acquire('n5');
  await settled();
  expect(await a.layer.waiting()).not.toContain('n5');
  return { a, b, late };
}

describe('A crowd at one resource of a shared store', () => {
  it('of a thousand that come within a second costs at most fifty commits, references included', async () => {
    const managers = await instances(3);
    const { clock, layer } = managers[0]!;
    const answers: Promise<{ kind: string }>[] = [];
    for (let n = 0; n < 1000; n++) {
      answers.push(managers[n % 3]!.layer.acquire(`n${n}`));
      if (n === 500) await layer.succeed('n0');
      await clock.advance(1);
    }
    await clock.advance(1000);
    const kinds = await Promise.all(answers.map(async (answer) => (await answer).kind));
    expect(kinds.filter((kind) => kind === 'acquired')).toHaveLength(1);
    expect((await managers[1]!.manager.read('layer')).references.size).toBe(1000);
    expect(commitsOf(managers)).toBeLessThanOrEqual(50);
  });

  it('is written soon, in the order they came', async () => {
    const { a, b, late } = await crowded();
    void b.layer.acquire('n6');
    await a.clock.advance(125);
    expect(await late).toMatchObject({ kind: 'queued', position: 5 });
    expect(await a.layer.waiting()).toEqual(['n1', 'n2', 'n3', 'n4', 'n5', 'n6']);
  });

  it('that cannot be judged is refused, and nobody else waits for it', { timeout: 5000 }, async () => {
    const [a, b] = (await instances(2)) as [Bench, Bench];
    await a.layer.acquire('n0');
    await queue(b, 'n1', 'n2', 'n3', 'n4');
    vi.spyOn(b.clock, 'wallMs').mockImplementation(() => {
      throw new Error('a broken invariant');
    });
    const late = b.layer.acquire('n5');
    const other = b.manager.execute('other', { kind: 'claim', type: 'pull', asker: { nodeId: 'n5' } });
    await expect(late).rejects.toThrow('a broken invariant');
    await expect(other).rejects.toThrow('a broken invariant');
    vi.restoreAllMocks();
    expect(await b.layer.acquire('n0')).toMatchObject({ kind: 'acquired' });
  });

  it('goes along at once with a command that cannot wait', async () => {
    const { b, late } = await crowded();
    await b.layer.fail('n0');
    expect(await late).toMatchObject({ kind: 'queued' });
    expect(await b.layer.holder()).toBe('n1');
  });

  it('does not keep from the lock whom it is free for', async () => {
    const { a, b, late } = await crowded();
    for (const node of ['n1', 'n2', 'n3', 'n4']) await a.layer.withdraw(node);
    await a.layer.fail('n0');
    await settled();
    expect(await late).toMatchObject({ kind: 'acquired' });
    expect(await b.layer.holder()).toBe('n5');
  });

  it('delays nobody at another resource, and nobody over an embedded store', async () => {
    const { b } = await crowded();
    expect(
      (await b.manager.execute('other', { kind: 'acquire', type: 'pull', asker: { nodeId: 'n' } })).kind,
    ).toBe('acquired');
    const alone = await bench();
    await alone.layer.acquire('n0');
    await queue(alone, 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7');
  });
});
