import { describe, expect, it } from 'vitest';
import { startInstances } from '../support/instances.js';

/** Deadlines over a shared store are up to this late. */
const JITTER_MS = 250;

describe('Several servers over one store', () => {
  it('are one: lock at the first, wait at the others, unlock anywhere', async () => {
    const { servers } = await startInstances(3);
    const [a, b, c] = servers as [(typeof servers)[0], (typeof servers)[0], (typeof servers)[0]];
    expect((await a.lock()).body.acquired).toBe(true);
    expect((await b.lock({ node_id: 'n2' })).body.position).toBe(1);
    const stream = await b.subscribe({ node_id: 'n2' });
    const { answer } = await c.longPoll({ node_id: 'n3' });
    expect((await c.unlock({ error: 'x' })).body).toMatchObject({ released: true, next_holder: 'n2' });
    expect(await stream.nextEvent()).toMatchObject({ event: 'assigned', json: { node_id: 'n2' } });
    expect((await a.lock({ node_id: 'n2' })).body.acquired).toBe(true);
    expect((await b.unlock({ node_id: 'n2' })).body.released).toBe(true);
    expect((await answer).body).toMatchObject({ skip: true });
    expect(await stream.nextEvent()).toMatchObject({ event: 'completed', json: { node_id: 'n2' } });
  });

  it('end a lease once, whoever of them is the first', async () => {
    const { servers, clock } = await startInstances(3);
    await servers[0]!.lock({ lease_ms: 5000 });
    for (const node_id of ['n2', 'n3']) await servers[1]!.lock({ node_id });
    const events = await servers[2]!.stream('/events');
    await events.nextEvent();
    await clock.advance(5000 + JITTER_MS);
    expect((await events.nextEvent()).event).toBe('expired');
    expect(await events.nextEvent()).toMatchObject({ event: 'assigned', json: { node_id: 'n2' } });
    expect((await servers[0]!.status()).body).toMatchObject({ holder: { node_id: 'n2' }, queue_length: 1 });
  });

  it.each([60_000, 0])(
    'know that a wait belongs to its latest request (wait_ms %i): an older long poll elsewhere takes nothing with it',
    async (wait_ms) => {
      const { servers } = await startInstances(2);
      const [a, b] = [servers[0]!, servers[1]!];
      await a.lock();
      const older = await a.longPoll({ node_id: 'n2' });
      const latest = b.lock({ node_id: 'n2', wait_ms });
      if (wait_ms > 0) await b.untilGauge('holdfast_long_polls', 1);
      else await latest;
      older.answer.abort();
      await a.untilGauge('holdfast_long_polls', 0);
      expect((await b.status()).body.queue_length).toBe(1);
      await b.unlock({ error: 'x' });
      if (wait_ms > 0) expect((await latest).body.acquired).toBe(true);
      expect((await b.status({ node_id: 'n2' })).body.acquired).toBe(true);
    },
  );

  it.each(['asks', 'long poll', 'stream'])('keep a waiter whose %s reach only one of them', async (how) => {
    const { servers, clock } = await startInstances(2, { waiterTtlMs: 10_000 });
    const [a, b] = [servers[0]!, servers[1]!];
    await a.lock({ lease_ms: 0 });
    await a.lock({ node_id: 'n2' });
    if (how === 'long poll') await b.longPoll({ node_id: 'n2', wait_ms: 600_000 });
    if (how === 'stream') await b.subscribe({ node_id: 'n2' });
    for (let times = 0; times < 10; times++) {
      await clock.advance(9000);
      if (how === 'asks') await b.lock({ node_id: 'n2' });
    }
    expect((await a.status()).body.queue_length).toBe(1);
  });
});
