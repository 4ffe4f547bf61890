import { describe, expect, it } from 'vitest';
import { holdNextGet } from '../support/server-gate.js';
import { TestServer, until } from '../support/server-bootstrap.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const BOUND = { node_id: 'n1', bind: 'true' };

async function holder(server: TestServer): Promise<string | undefined> {
  return (await server.status()).body.holder?.node_id;
}

async function closed(server: TestServer, reader: { close(): void }): Promise<void> {
  const open = await server.metric('holdfast_open_streams');
  reader.close();
  await server.untilGauge('holdfast_open_streams', open - 1);
}

describe('bind=true', () => {
  it('ends a hold when its stream has been gone for the grace time', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    const reader = await server.subscribe(BOUND);
    await server.clock.advance(60_000);
    await closed(server, reader);
    await server.clock.advance(4900);
    expect(await holder(server)).toBe('n1');
    await server.clock.advance(200);
    expect(await holder(server)).toBe('n2');
  });

  it('withdraws a wait', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await closed(server, await server.subscribe({ ...BOUND, node_id: 'n2' }));
    await server.clock.advance(5100);
    expect((await server.status()).body.queue_length).toBe(0);
    expect(await holder(server)).toBe('n1');
  });

  it('goes with the wait into the hold it becomes', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0, claimTimeoutMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    const reader = await server.subscribe({ ...BOUND, node_id: 'n2' });
    await server.unlock({ error: 'x' });
    expect(await holder(server)).toBe('n2');
    await closed(server, reader);
    await server.clock.advance(5100);
    expect(await holder(server)).toBeUndefined();
  });

  it('holds also for what is granted or queued after the stream was opened', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    const first = await server.subscribe(BOUND);
    const second = await server.subscribe({ ...BOUND, node_id: 'n2' });
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await closed(server, first);
    await closed(server, second);
    await server.clock.advance(5100);
    expect((await server.status()).body).toMatchObject({ held: false, queue_length: 0 });
  });

  it('lets a stream come back within the grace time, which then begins anew', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await closed(server, await server.subscribe(BOUND));
    await server.clock.advance(4000);
    const back = await server.subscribe(BOUND);
    await server.clock.advance(500);
    await closed(server, back);
    await server.clock.advance(4800);
    expect(await holder(server)).toBe('n1');
    await server.clock.advance(500);
    expect(await holder(server)).toBeUndefined();
  });

  it('counts only the last of several streams', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    const [one, two] = [await server.subscribe(BOUND), await server.subscribe(BOUND)];
    await closed(server, one);
    await server.clock.advance(60_000);
    expect(await holder(server)).toBe('n1');
    await closed(server, two);
    await server.clock.advance(5100);
    expect(await holder(server)).toBeUndefined();
  });

  it('ends a hold also when it is renewed without a stream', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await closed(server, await server.subscribe(BOUND));
    await server.clock.advance(4000);
    await server.post('/lock/renew', { type: 'pull', resource_id: 'layer', node_id: 'n1' });
    await server.clock.advance(1500);
    expect(await holder(server)).toBeUndefined();
  });

  it('does not count time in which the process was stopped', async () => {
    const server = await TestServer.with({ defaultLeaseMs: 0 }).onSimulatedTime().start();
    await server.lock();
    await closed(server, await server.subscribe(BOUND));
    await server.clock.pause(60_000);
    expect(await holder(server)).toBe('n1');
    await server.clock.advance(5000);
    expect(await holder(server)).toBeUndefined();
  });

  it('starts the grace time of a stream that was gone before it was bound', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with({ defaultLeaseMs: 0 }).over(store).onSimulatedTime(clock).start();
    await server.lock();
    const socket = await server.connect();
    const binding = holdNextGet(store);
    socket.write(
      'GET /lock/subscribe?type=pull&resource_id=layer&node_id=n1&bind=true HTTP/1.1\r\nhost: x\r\n\r\n',
    );
    await binding.reached;
    const connections = () =>
      new Promise<number>((resolve) =>
        server.app.getHttpServer().getConnections((_: unknown, count: number) => resolve(count)),
      );
    const before = await connections();
    socket.destroy();
    await until(async () => (await connections()) < before);
    binding.open();
    await until(async () => store.commits.length >= 2);
    await server.clock.advance(5500);
    expect(await holder(server)).toBeUndefined();
    expect(await server.metric('holdfast_open_streams')).toBe(0);
  });

  it('survives a restart, with the grace time in full, and the server’s own closing ends nothing', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const settings = { defaultLeaseMs: 0, bindGraceMs: 0 };
    const before = await TestServer.with(settings).over(store).onSimulatedTime(clock).start();
    await before.lock();
    await before.lock({ node_id: 'n2' });
    await before.subscribe(BOUND);
    await before.close();
    const after = await TestServer.with({ ...settings, bindGraceMs: 5000 })
      .over(store)
      .onSimulatedTime(clock)
      .start();
    await clock.advance(4800);
    expect(await holder(after)).toBe('n1');
    const back = await after.subscribe(BOUND);
    await clock.advance(60_000);
    expect(await holder(after)).toBe('n1');
    await closed(after, back);
    await clock.advance(5100);
    expect(await holder(after)).toBe('n2');
  });

  it('ends after a restart what no stream comes back for', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const settings = { defaultLeaseMs: 0, claimTimeoutMs: 0 };
    const before = await TestServer.with(settings).over(store).onSimulatedTime(clock).start();
    await before.lock();
    await before.lock({ node_id: 'n2' });
    await before.lock({ node_id: 'n3' });
    await before.subscribe(BOUND);
    await before.subscribe({ ...BOUND, node_id: 'n2' });
    await before.close();
    const after = await TestServer.with(settings).over(store).onSimulatedTime(clock).start();
    await clock.advance(4900);
    expect(await holder(after)).toBe('n1');
    await clock.advance(300);
    expect(await holder(after)).toBe('n3');
  });
});
