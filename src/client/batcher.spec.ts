import { describe, expect, it } from 'vitest';
import { dispatchOver, ScriptedSender } from '../../test/support/scripted-sender.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { Batcher } from './batcher.js';
import { ClosedError } from './errors.js';
import { Retries } from './retries.js';

function scene(maxRetries = 3, parallel = 1) {
  const clock = new SimulatedClock();
  const sender = new ScriptedSender(clock);
  const closer = new AbortController();
  const retries = new Retries({ maxRetries, retryIntervalMs: 1000 }, 1, () => 1);
  const dispatch = dispatchOver(sender, { retries, clock, closing: closer.signal }, parallel);
  const batcher = new Batcher('/lock', dispatch);
  const sizes = () => sender.sent.map(({ body }) => (JSON.parse(body!) as { requests: [] }).requests.length);
  return { clock, sender, sizes, closer, batcher };
}

const GOOD = { status: 200 };

describe('a batcher', () => {
  it('sends a single call as it is', async () => {
    const { sender, batcher } = scene();
    const call = batcher.call('{"a":1}');
    await settled();
    expect(sender.last).toMatchObject({ path: '/lock', body: '{"a":1}' });
    sender.last.answer(200, { x: 1 });
    expect(await call).toMatchObject({ status: 200, body: { x: 1 } });
  });

  it('sends calls of one tick together, and gives each its own answer', async () => {
    const { sender, batcher } = scene();
    const calls = ['1', '2', '3'].map((body) => batcher.call(body));
    await settled();
    expect(sender.sent).toHaveLength(1);
    expect(sender.last).toMatchObject({ path: '/lock/batch', body: '{"requests":[1,2,3]}' });
    sender.last.answer(200, {
      results: [
        { status: 200, n: 1 },
        { status: 403, code: 'X' },
        { status: 200, n: 3 },
      ],
    });
    const replies = await Promise.all(calls);
    expect(replies.map(({ status }) => status)).toEqual([200, 403, 200]);
    expect(replies[2]!.body).toMatchObject({ n: 3 });
  });

  it('sends without delay while nothing is under way', async () => {
    const { sender, batcher } = scene();
    void batcher.call('1');
    await new Promise(process.nextTick);
    expect(sender.sent).toHaveLength(1);
  });

  it('gathers the calls of a turn of the event loop while something is under way', async () => {
    const { sender, batcher } = scene();
    void batcher.call('1');
    await new Promise(process.nextTick);
    for (const body of ['2', '3']) {
      void batcher.call(body);
      await new Promise(process.nextTick);
    }
    expect(sender.sent).toHaveLength(1);
    await settled();
    expect(sender.sent).toHaveLength(2);
    expect(sender.last.body).toBe('{"requests":[2,3]}');
  });

  /** How so many calls travel that are made while nothing is under way. */
  async function sizesOf(calls: number, parallel: number) {
    const { sizes, batcher } = scene(3, parallel);
    for (let n = 0; n < calls; n++) void batcher.call('1');
    await settled();
    return sizes();
  }

  it('sends many calls in as many parts as the server likes to have under way', async () => {
    expect(await sizesOf(33, 2)).toEqual([17, 16]);
    expect(await sizesOf(33, 1)).toEqual([33]);
    expect(await sizesOf(600, 2)).toEqual([256, 256, 88]);
  });

  it('sends them in no parts that are hardly worth a request of their own', async () => {
    expect(await sizesOf(15, 2)).toEqual([15]);
    expect(await sizesOf(16, 2)).toEqual([8, 8]);
    expect(await sizesOf(40, 1000)).toEqual([8, 8, 8, 8, 8]);
  });

  it('sends them together while the server has something to do already', async () => {
    const { sizes, batcher } = scene(3, 2);
    for (let n = 0; n < 16; n++) void batcher.call('1');
    await settled();
    for (let n = 0; n < 32; n++) void batcher.call('1');
    await settled();
    expect(sizes()).toEqual([8, 8, 32]);
  });

  it('sends no more than 256 calls, nor more text than the server takes, in one request', async () => {
    const { sender, sizes, batcher } = scene();
    for (let n = 0; n < 600; n++) void batcher.call('1');
    await settled();
    expect(sizes()).toEqual([256, 256, 88]);
    const long = JSON.stringify('x'.repeat(140_000));
    for (let n = 0; n < 5; n++) void batcher.call(long);
    await settled();
    expect(sender.sent.slice(3).map(({ path }) => path)).toEqual(['/lock/batch', '/lock/batch', '/lock']);
  });

  it('tries those again together that failed together', async () => {
    const { clock, sender, batcher } = scene();
    const calls = ['1', '2'].map((body) => batcher.call(body));
    await settled();
    sender.last.answer(0);
    await settled();
    await clock.advance(999);
    expect(sender.sent).toHaveLength(1);
    await clock.advance(1);
    expect(sender.last.body).toBe('{"requests":[1,2]}');
    sender.last.answer(200, { results: [GOOD, GOOD] });
    const [reply] = await Promise.all(calls);
    expect(reply!.earlier).toMatchObject([{ url: 'http://s/', ms: 0 }]);
  });

  it('tries alone again what alone failed', async () => {
    const { clock, sender, batcher } = scene();
    const calls = ['1', '2'].map((body) => batcher.call(body));
    await settled();
    sender.last.answer(200, { results: [GOOD, { status: 503 }] });
    await calls[0];
    await settled();
    await clock.advance(1000);
    expect(sender.last).toMatchObject({ path: '/lock', body: '2' });
  });

  it('does not try again what nobody wants any more', async () => {
    const { sender, batcher } = scene();
    const call = batcher.call('1', { aborted: true });
    await settled();
    sender.last.answer(503);
    expect((await call).status).toBe(503);
  });

  it('does not try again what nobody wants any more when the pause is over', async () => {
    const { clock, sender, batcher } = scene();
    const left = new AbortController();
    const calls = [batcher.call('1', left.signal), batcher.call('2')];
    await settled();
    sender.last.answer(503);
    await settled();
    left.abort();
    await clock.advance(1000);
    expect((await calls[0])!.status).toBe(503);
    expect(sender.last).toMatchObject({ path: '/lock', body: '2' });
  });

  it('rejects what is left when the client is closed, also in the middle of a pause', async () => {
    const { sender, batcher, closer } = scene();
    const call = batcher.call('1');
    await settled();
    sender.last.answer(503);
    await settled();
    closer.abort();
    const error = (await call.catch((cause: unknown) => cause)) as ClosedError;
    expect(error).toBeInstanceOf(ClosedError);
    expect(error.request).toEqual({ method: 'POST', path: '/lock', body: '1' });
    expect(error.attempts).toMatchObject([{ status: 503 }]);
    expect(sender.sent).toHaveLength(1);
  });
});
