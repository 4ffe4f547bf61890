import { describe, expect, it, vi } from 'vitest';
import { FATAL, FatalError, HoldLostError, RefusedError, type RunResult } from '../../src/client/index.js';
import { newGate } from '../support/server-gate.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { clientOf, KEY, locksOf, untilEmpty, untilQueued } from './setup.js';

/** The run of a node that waited while another's work threw this. */
async function afterFailure(failure: Error): Promise<{ second: Promise<RunResult<string>> }> {
  const server = await TestServer.start();
  const [one, two] = [clientOf(server), clientOf(server, 'n2')];
  const gate = newGate();
  const first = one.runOnce(KEY, async () => {
    await gate.pass();
    throw failure;
  });
  await gate.reached;
  const second = two.runOnce(KEY, () => 'second');
  await untilQueued(server, 1);
  gate.open();
  await expect(first).rejects.toBe(failure);
  return { second };
}

describe('runOnce', () => {
  it('runs the work under a hold and reports its success', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const result = await client.runOnce(KEY, async (hold) => {
      expect((await client.status(KEY)).holder?.token).toBe(hold.token);
      return 'done';
    });
    expect(result).toEqual({ status: 'executed', value: 'done' });
    expect(await client.status(KEY)).toMatchObject({ held: false, completed: true, success: true });
  });

  it('is done once by many nodes that come together', async () => {
    const server = await TestServer.start();
    const clients = Array.from({ length: 8 }, (_, n) => clientOf(server, `n${n}`));
    const gate = newGate();
    const work = vi.fn(() => gate.pass());
    const runs = clients.map((client) => client.runOnce({ type: 'pull', resourceId: 'layer' }, work));
    await untilQueued(server, 7);
    gate.open();
    const results = await Promise.all(runs);
    expect(results.map(({ status }) => status).toSorted()).toEqual([
      'executed',
      ...Array<string>(7).fill('skipped'),
    ]);
    expect(work).toHaveBeenCalledTimes(1);
    const { count } = await clients[0]!.refs.get('layer');
    expect(count).toBe(8);
  });

  it('says who did what it skipped, when it was told', async () => {
    const server = await TestServer.start();
    const [one, two] = [clientOf(server), clientOf(server, 'n2')];
    const gate = newGate();
    const first = one.runOnce(KEY, () => gate.pass());
    await gate.reached;
    const second = two.runOnce(KEY, () => undefined);
    await untilQueued(server, 1);
    await server.untilGauge('holdfast_open_streams', 1);
    gate.open();
    await first;
    const result: RunResult<unknown> = await second;
    expect(result).toMatchObject({
      status: 'skipped',
      message: expect.stringContaining('n1'),
      doneBy: { nodeId: 'n1', completedAt: expect.stringMatching(/^20/) },
    });
  });

  it('reports what the work throws, and throws it again', async () => {
    const { second } = await afterFailure(new Error('disk full'));
    expect(await second).toEqual({ status: 'executed', value: 'second' });
  });

  it.each([
    ['a FatalError', new FatalError('no such layer')],
    ['a marked error', Object.assign(new Error('no such layer'), { [FATAL]: true })],
    ['an error that says so', Object.assign(new Error('no such layer'), { fatal: true })],
  ])('sends the others away after %s', async (_name, failure) => {
    const { second } = await afterFailure(failure);
    await expect(second).rejects.toBeInstanceOf(RefusedError);
    await expect(second).rejects.toMatchObject({ code: 'OPERATION_FAILED' });
  });

  it('never reports a result that came after the hold was lost', async () => {
    const server = await TestServer.start();
    const client = clientOf(server, 'n1', { sessionTtlMs: 60_000 });
    const run = client.runOnce({ ...KEY, leaseMs: 200 }, async (hold) => {
      await until(() => hold.signal.aborted);
      return 'too late';
    });
    await expect(run).rejects.toBeInstanceOf(HoldLostError);
    expect((await client.status(KEY)).completed).toBe(false);
    await untilEmpty(server);
  });

  it('notices the loss although the event loop was blocked and no timer could fire', async () => {
    const server = await TestServer.start();
    const client = clientOf(server, 'n1', { sessionTtlMs: 300 });
    const run = client.runOnce(KEY, () => {
      const end = performance.now() + 350;
      while (performance.now() < end);
      return 'too late';
    });
    await expect(run).rejects.toBeInstanceOf(HoldLostError);
  });

  it('is shared by calls of one client', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const work = vi.fn(() => Promise.resolve(42));
    const results = await Promise.all([1, 2, 3].map(() => client.runOnce(KEY, work)));
    expect(results.map((result) => result.status === 'executed' && result.value)).toEqual([42, 42, 42]);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('goes on while anybody wants it, and is aborted when nobody does', async () => {
    const server = await TestServer.start();
    const client = clientOf(server);
    const [one, two] = [new AbortController(), new AbortController()];
    let aborted: AbortSignal | undefined;
    const work = (hold: { signal: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => {
        aborted = hold.signal;
        hold.signal.addEventListener('abort', () => reject(hold.signal.reason));
      });
    const runs = [one, two].map(({ signal }) => client.runOnce(KEY, work, { signal }));
    await until(() => aborted !== undefined);
    one.abort(new Error('one has enough'));
    await expect(runs[0]).rejects.toThrow('one has enough');
    expect(aborted!.aborted).toBe(false);
    expect((await locksOf(server))[0]!.held).toBe(true);
    two.abort(new Error('two has enough'));
    await expect(runs[1]).rejects.toThrow('two has enough');
    expect(aborted!.aborted).toBe(true);
    await untilEmpty(server);
    expect((await client.runOnce(KEY, () => 1)).status).toBe('executed');
  });
});
