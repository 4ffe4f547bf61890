import { describe, expect, it } from 'vitest';
import { Connection, startInstances } from '../support/instances.js';
import { TestServer } from '../support/server-bootstrap.js';

const BOUND = { node_id: 'n1', bind: 'true' };
const GRACE_MS = 5000;
const NOTICED_MS = 10_000;
const JITTER_MS = 250;

/** `n1` holds the key, bound to its stream at the first server; `n2` waits. */
async function bound() {
  const instances = await startInstances(2, { defaultLeaseMs: 0 });
  const [a, b] = instances.servers as [TestServer, TestServer];
  await a.lock();
  await a.lock({ node_id: 'n2' });
  const stream = await a.subscribe(BOUND);
  return { ...instances, a, b, stream };
}

async function holder(server: TestServer): Promise<string | undefined> {
  return (await server.status()).body.holder?.node_id;
}

async function closed(server: TestServer, stream: { close(): void }): Promise<void> {
  stream.close();
  await server.untilGauge('holdfast_open_streams', 0);
}

describe('bind=true over several servers', () => {
  it('ends a hold once its stream is gone everywhere', async () => {
    const { a, b, clock, stream } = await bound();
    await clock.advance(60_000);
    await closed(a, stream);
    await clock.advance(GRACE_MS - 100);
    expect(await holder(b)).toBe('n1');
    await clock.advance(100 + JITTER_MS);
    expect(await holder(b)).toBe('n2');
  });

  it('lets the stream come back at another server, also where that is not seen', async () => {
    const { a, b, clock, connections, stream } = await bound();
    await closed(a, stream);
    connections[0]!.faults = { heldBack: 1 };
    const again = await b.subscribe(BOUND);
    await clock.advance(60_000);
    expect(await holder(b)).toBe('n1');
    await closed(b, again);
    await clock.advance(GRACE_MS + JITTER_MS);
    expect(await holder(b)).toBe('n2');
  });

  it('does not depend on a server that has only just started', async () => {
    const { b, clock, store } = await bound();
    const connection = new Connection(store, () => 0, {}, true);
    await TestServer.with().over(connection).onSimulatedTime(clock).start();
    await clock.advance(60_000);
    expect(await holder(b)).toBe('n1');
  });

  it('ends a hold when the server of its stream has died, and it is not opened elsewhere', async () => {
    const { b, clock, connections } = await bound();
    connections[0]!.die();
    await clock.advance(NOTICED_MS);
    expect(await holder(b)).toBe('n1');
    await clock.advance(GRACE_MS + 2 * JITTER_MS);
    expect(await holder(b)).toBe('n2');
  });

  it('keeps a hold whose server was taken for dead and is not', async () => {
    const { b, clock, connections } = await bound();
    connections[0]!.refuse();
    await clock.advance(NOTICED_MS + 2 * JITTER_MS);
    connections[0]!.faults = {};
    await clock.advance(60_000);
    expect(await holder(b)).toBe('n1');
  });
});
