import { afterAll, beforeAll, describe, it } from 'vitest';
import { OldGoClient } from '../support/old-go-client.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';

let server: ServerProcess;
beforeAll(
  async () => void (server = await ServerProcess.start({ SSE_HEARTBEAT_MS: '100' })),
  START_TIMEOUT_MS,
);
afterAll(() => server?.remove());

const pull = (layer: string) => ({ type: 'pull', resource_id: layer });
const client = (node: string, beforeSubscribing?: () => Promise<unknown>) =>
  new OldGoClient(server.url, node, beforeSubscribing && { beforeSubscribing });

/** Once that many wait for the layer. */
async function queued(layer: string, length: number): Promise<void> {
  for (;;) {
    const { body } = await server.get(`/lock/status?type=pull&resource_id=${layer}`);
    if (body['queue_length'] === length) return;
  }
}

describe.concurrent('the stream of an old Go client', { timeout: 20_000 }, () => {
  it('tells by a comment line that the lock was handed to it before it subscribed', async ({ expect }) => {
    const worker = client('worker');
    await worker.lock(pull('handed'));
    const waiter = client('waiter', () => worker.unlock(pull('handed'), 'failed'));
    const since = performance.now();
    expect(await waiter.lock(pull('handed'))).toBe('acquired');
    expect(performance.now() - since).toBeGreaterThan(1400);
    expect(performance.now() - since).toBeLessThan(4000);
    expect(waiter.lines).toEqual([': ask again']);
  });

  it('says nothing of a hand-over to another node that came before it', async ({ expect }) => {
    const [worker, second] = [client('worker'), client('second')];
    await worker.lock(pull('others'));
    const taken = second.lock(pull('others'));
    await queued('others', 1);
    const third = client('third', async () => {
      if (third.asked > 1) return;
      await worker.unlock(pull('others'), 'failed');
      expect(await taken).toBe('acquired');
      setTimeout(() => void second.unlock(pull('others')), 2000);
    });
    expect(await third.lock(pull('others'))).toBe('done');
    expect(third.lines.filter((line) => line.includes('assigned'))).toEqual([]);
    expect(third.asked).toBe(2);
  });

  it('tells by a comment line that the lock is free though it is no longer queued', async ({ expect }) => {
    const [worker, waiter] = [client('worker'), client('waiter')];
    await worker.lock(pull('freed'));
    const waited = waiter.lock(pull('freed'));
    await queued('freed', 1);
    await server.post('/lock/cancel', { ...pull('freed'), node_id: 'waiter' });
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await worker.unlock(pull('freed'), 'failed');
    expect(await waited).toBe('acquired');
    expect(waiter.lines).toEqual([': ask again']);
  });

  it('says nothing, not even a heartbeat, while there is nothing to ask for', async ({ expect }) => {
    const [worker, waiter] = [client('worker'), client('waiter')];
    await worker.lock(pull('quiet'));
    const waited = waiter.lock(pull('quiet'));
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(waiter.lines).toEqual([]);
    await worker.unlock(pull('quiet'));
    expect(await waited).toBe('done');
    expect(waiter.asked).toBe(2);
  });

  it('makes it hear that nobody can succeed, which it has no word for', async ({ expect }) => {
    const waiter = client('waiter');
    await server.post('/lock', { ...pull('fatal'), node_id: 'worker' });
    const waited = waiter.lock(pull('fatal')).catch(String);
    await queued('fatal', 1);
    await server.post('/unlock', { ...pull('fatal'), node_id: 'worker', error: '404', fatal: true });
    expect(await waited).toContain('404');
  });

  it('tells a success on open to everyone who comes, not only to the first', async ({ expect }) => {
    const key = { type: 'update', resource_id: 'told-to-all' };
    const waiters = ['b', 'c', 'd'].map((node) => client(node));
    await client('a').lock(key);
    for (const { nodeId } of waiters) await server.post('/lock', { ...key, node_id: nodeId });
    await client('a').unlock(key);
    for (const waiter of waiters) expect(await waiter.lock(key)).toBe('done');
  });

  it('is not needed for a refusal: a delete of a layer in use is an error at once', async ({ expect }) => {
    const user = client('user');
    await user.lock(pull('used'));
    await user.unlock(pull('used'));
    const deletion = client('cleaner').lock({ type: 'delete', resource_id: 'used' });
    await expect(deletion).rejects.toThrow('in use by 1 node');
  });
});
