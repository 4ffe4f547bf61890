import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/stores/store.error.js';
import { TestServer } from '../support/server-bootstrap.js';
import { KeptStore } from '../support/server-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

describe('Health', () => {
  it('is live and ready', async () => {
    const server = await TestServer.start();
    const live = await server.get('/health/live');
    expect([live.status, live.body.status]).toEqual([200, 'ok']);
    const ready = await server.get('/health/ready');
    expect(ready.status).toBe(200);
    expect(ready.body).toMatchObject({ status: 'ok', details: { store: { status: 'up' } } });
  });

  it('is live but not ready while the store does not answer, and says why', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).start();
    store.onGet = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'get', 'the disk is gone'));
    const ready = await server.get('/health/ready');
    expect(ready.status).toBe(503);
    expect(ready.headers['retry-after']).toBeDefined();
    expect(ready.body).toMatchObject({
      code: 'NOT_READY',
      message: expect.any(String),
      details: { store: { status: 'down', message: expect.stringContaining('the disk is gone') } },
    });
    expect((await server.get('/health/live')).status).toBe(200);
  });
});

describe('Metrics', () => {
  it('count acquisitions and outcomes by type', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'x' });
    await server.unlock({ node_id: 'n2' });
    await server.lock({ type: 'mine' });
    await server.unlock({ type: 'mine', error: '404', fatal: true });
    await server.lock({ type: 'update', lease_ms: 1000 });
    await server.clock.advance(1500);
    const how = (type: string, value: string) =>
      server.metric(`holdfast_acquisitions_total{type="${type}",how="${value}"}`);
    expect(await how('pull', 'granted')).toBe(1);
    expect(await how('pull', 'queued')).toBe(1);
    expect(await how('pull', 'assigned')).toBe(1);
    expect(await how('other', 'granted')).toBe(1);
    const outcome = (type: string, value: string) =>
      server.metric(`holdfast_outcomes_total{type="${type}",outcome="${value}"}`);
    expect(await outcome('pull', 'failure')).toBe(1);
    expect(await outcome('pull', 'success')).toBe(1);
    expect(await outcome('other', 'fatal')).toBe(1);
    expect(await outcome('update', 'expired')).toBe(1);
  });

  it('tell a run whose process has closed its session from one that has fallen silent', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    for (const resource_id of ['closed', 'silent']) {
      const session_id = await server.session('n1', 5000);
      const { token } = (await server.lock({ resource_id, session_id })).body;
      if (resource_id === 'closed') await server.call('DELETE', `/sessions/${session_id}`);
      else await server.clock.advance(6000);
      const msg = resource_id === 'closed' ? 'ended' : 'expired';
      expect(server.log.filter((line) => line.token === token).map((line) => line.msg)).toEqual([
        'granted',
        msg,
      ]);
      expect(await server.metric(`holdfast_outcomes_total{type="pull",outcome="${msg}"}`)).toBe(1);
    }
  });

  it('count types of users’ own together, and say so', async () => {
    const server = await TestServer.start();
    for (const type of ['build', 'test']) await server.lock({ type });
    expect(await server.metric('holdfast_acquisitions_total{type="other",how="granted"}')).toBe(2);
    const { text } = await server.get('/metrics');
    for (const [, name] of text.matchAll(/^(holdfast_\w+?)(?:_bucket|_count|_sum)?\{[^}]*type="other"/gm))
      expect(text).toMatch(new RegExp(`^# HELP ${name} .*all types of your own together, other$`, 'm'));
  });

  it('measure waiting, holding and the time until a hand-over is claimed', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 60_000 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.clock.advance(4000);
    await server.unlock({ error: 'x' });
    await server.clock.advance(3000);
    expect(await server.metric('holdfast_hand_over_seconds_count{type="pull"}')).toBeNaN();
    await server.lock({ node_id: 'n2' });
    await server.clock.advance(2000);
    await server.unlock({ node_id: 'n2' });
    expect(await server.metric('holdfast_wait_seconds_sum{type="pull"}')).toBe(4);
    expect(await server.metric('holdfast_wait_seconds_count{type="pull"}')).toBe(2);
    expect(await server.metric('holdfast_hold_seconds_sum{type="pull"}')).toBe(4 + 5);
    expect(await server.metric('holdfast_hand_over_seconds_sum{type="pull"}')).toBe(3);
    expect(await server.metric('holdfast_hand_over_seconds_count{type="pull"}')).toBe(1);
  });

  it('do not take a hand-over that nobody claims for a claim', async () => {
    const server = await TestServer.with({ claimTimeoutMs: 1000 }).onSimulatedTime().start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'x' });
    await server.clock.advance(1500);
    await server.lock({ node_id: 'n3' });
    expect(await server.metric('holdfast_hand_over_seconds_count{type="pull"}')).toBeNaN();
  });

  it('show who waits, what is open and what is remembered', async () => {
    const server = await TestServer.start();
    await server.session('n1');
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.longPoll({ node_id: 'n3' });
    await server.subscribe();
    await server.stream('/events');
    expect(await server.metric('holdfast_waiters')).toBe(2);
    expect(await server.metric('holdfast_long_polls')).toBe(1);
    expect(await server.metric('holdfast_open_streams')).toBe(2);
    expect(await server.metric('holdfast_sessions')).toBe(1);
    expect(await server.metric('holdfast_resources')).toBe(1);
    expect(await server.metric('process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  it('count the work that was avoided, once for each asking', async () => {
    const server = await TestServer.start();
    await server.lock();
    await server.lock({ node_id: 'n2' });
    await server.lock({ node_id: 'n3' });
    await server.unlock();
    for (const node_id of ['n2', 'n3', 'n4', 'n4']) {
      expect((await server.lock({ node_id })).body.skip).toBe(true);
    }
    expect(await server.metric('holdfast_work_avoided_total{type="pull"}')).toBe(4);
  });

  it('count the work that was avoided without a reference being added', async () => {
    const server = await TestServer.start({ completedSkipMs: 60_000 });
    await server.lock({ type: 'update' });
    await server.unlock({ type: 'update' });
    expect((await server.lock({ type: 'update', node_id: 'n2' })).body.skip).toBe(true);
    expect(await server.metric('holdfast_work_avoided_total{type="update"}')).toBe(1);
  });

  it('measure the store, and how many requests a commit answers', async () => {
    const clock = new SimulatedClock();
    const store = new KeptStore(clock);
    const server = await TestServer.with().over(store).onSimulatedTime(clock).start();
    await server.lock();
    store.onCommit = async (_writes, commit) => {
      store.onCommit = undefined;
      await clock.advance(250);
      return commit();
    };
    const requests = ['n2', 'n3', 'n4', 'n5'].map((node_id) => ({
      type: 'pull',
      resource_id: 'layer',
      node_id,
    }));
    await server.post('/lock/batch', { requests });
    expect(await server.metric('holdfast_store_commit_seconds_count{outcome="committed"}')).toBe(2);
    expect(await server.metric('holdfast_store_commit_seconds_sum{outcome="committed"}')).toBe(0.25);
    expect(await server.metric('holdfast_commands_per_commit_sum')).toBe(5);
    expect(await server.metric('holdfast_commands_per_commit_count')).toBe(2);
    store.onCommit = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'commit', 'full'));
    await server.lock({ node_id: 'n6' });
    expect(await server.metric('holdfast_store_commit_seconds_count{outcome="failed"}')).toBe(1);
  });

  it('come in the text form of Prometheus', async () => {
    const server = await TestServer.start();
    const { status, headers, text } = await server.get('/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('text/plain; version=0.0.4');
    expect(text).toContain('# TYPE holdfast_wait_seconds histogram');
  });
});

describe('The log', () => {
  it('has a line for each thing that happens to a lock: key, node, holder, token', async () => {
    const server = await TestServer.with().onSimulatedTime().start();
    const { token } = (await server.lock()).body;
    await server.lock({ node_id: 'n2' });
    await server.unlock({ error: 'disk full' });
    const second = (await server.lock({ node_id: 'n2', lease_ms: 1000 })).body.token;
    await server.clock.advance(1500);
    const third = (await server.lock({ node_id: 'n3' })).body.token;
    await server.unlock({ node_id: 'n3' });
    const key = 'pull:layer';
    const lines = server.log
      .filter((line) => line.key === key)
      .map(({ level: _l, time: _t, ...line }) => line);
    expect(lines).toEqual([
      { key, node: 'n1', holder: 'n1', token, msg: 'granted' },
      { key, node: 'n2', holder: 'n1', msg: 'queued' },
      { key, node: 'n1', token, error: 'disk full', msg: 'released' },
      { key, node: 'n2', holder: 'n2', token: second, msg: 'assigned' },
      { key, node: 'n2', token: second, error: expect.any(String), msg: 'expired' },
      { key, node: 'n3', holder: 'n3', token: third, msg: 'granted' },
      { key, node: 'n3', token: third, msg: 'completed' },
    ]);
  });

  it('says of an answer of 503 what was wrong', async () => {
    const store = new KeptStore(new SimulatedClock());
    const server = await TestServer.with().over(store).start();
    store.onCommit = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'commit', 'x'.repeat(1000)));
    await server.lock();
    expect(server.log.find(({ status }) => status === 503)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      error: 'x'.repeat(300),
    });
  });

  it('says which routes there are only to somebody who debugs', async () => {
    const server = await TestServer.start();
    const routes = server.log.filter((line) => String(line.msg).startsWith('Mapped {'));
    expect(routes.length).toBeGreaterThan(10);
    expect(new Set(routes.map((line) => line.level))).toEqual(new Set([20]));
    const quiet = await TestServer.with({ logLevel: 'info' }).start();
    expect(quiet.log.length).toBeLessThan(5);
  });
});
