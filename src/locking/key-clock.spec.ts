import { describe, expect, it } from 'vitest';
import { type Command } from '../core/commands.js';
import { type KeyState, keyOf } from '../core/state.js';
import { asker, type ResourceDriver, resource } from '../../test/support/resource-driver.js';
import { type DeadlinePolicy, KeyClock } from './key-clock.js';

const policy: DeadlinePolicy = { claimTimeoutMs: 10_000, waiterTtlMs: 600_000, completionTtlMs: 300_000 };

/** The clock of a resource's pulls, shown every state in turn. */
class Watch {
  readonly clock = new KeyClock('pull');
  nowMs = 0;
  private seen: KeyState | undefined;

  constructor(
    private readonly layer: ResourceDriver,
    readonly times = policy,
  ) {
    this.look();
  }

  look(): this {
    const key = keyOf(this.layer.state, 'pull');
    if (key) this.clock.observe(this.seen, key, this.nowMs, this.times);
    this.seen = key;
    return this;
  }

  later(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  get due(): Command[] {
    return [...this.clock.due(this.nowMs, this.times)];
  }

  get kinds(): string[] {
    return this.due.map(({ kind }) => kind);
  }

  get nextMs(): number {
    return this.clock.dueAtMs(this.times);
  }
}

describe('KeyClock: leases', () => {
  it('ends a hold its lease after it was granted, naming the hold and its last renewal', () => {
    const layer = resource();
    const token = layer.grant('pull', 'a', { leaseMs: 5000 });
    const watch = new Watch(layer);
    expect(watch.nextMs).toBe(5000);
    expect(watch.later(4999).due).toEqual([]);
    expect(watch.later(1).due).toMatchObject([{ kind: 'expire-hold', token, renewed: token }]);
  });

  it('starts a lease again when it is renewed, and at nothing else', () => {
    const layer = resource();
    layer.grant('pull', 'a', { leaseMs: 5000 });
    const watch = new Watch(layer).later(3000);
    layer.queue('pull', 'b');
    watch.look();
    layer.bind('pull', 'a');
    expect(watch.look().nextMs).toBe(5000);
    layer.renew('pull', 'a');
    expect(watch.look().nextMs).toBe(8000);
    layer.renew('pull', 'a', { leaseMs: 60_000 });
    expect(watch.look().nextMs).toBe(63_000);
  });

  it('lets a hold without a lease stand for ever', () => {
    const layer = resource();
    layer.grant('pull', 'a', { leaseMs: 0 });
    expect(new Watch(layer).nextMs).toBe(Infinity);
  });
});

describe('KeyClock: claims', () => {
  it('passes over a new holder that does not claim in time', () => {
    const layer = resource();
    layer.grant('pull', 'a');
    layer.queue('pull', 'b');
    layer.fail('pull', 'a');
    const watch = new Watch(layer);
    expect(watch.nextMs).toBe(10_000);
    expect(watch.later(10_000).due).toMatchObject([{ kind: 'expire-hold' }]);
    layer.claim('pull', 'b');
    expect(watch.look().kinds).toEqual([]);
  });

  it('waits for no claim when that is switched off', () => {
    const layer = resource();
    layer.grant('pull', 'a');
    layer.queue('pull', 'b', { leaseMs: 0 });
    layer.expireHold('pull', layer.key('pull').hold!.token, layer.key('pull').hold!.renewed);
    expect(new Watch(layer, { ...policy, claimTimeoutMs: 0 }).nextMs).toBe(Infinity);
  });
});

describe('KeyClock: waiters', () => {
  function queueOf(...names: string[]) {
    const layer = resource();
    layer.grant('pull', 'holder', { leaseMs: 0 });
    const tickets = names.map((name) => layer.queue('pull', name));
    return { layer, tickets, watch: new Watch(layer) };
  }

  it('drops a waiter its time after its last request, naming the wait as it was last written', () => {
    const { watch, tickets } = queueOf('b');
    expect(watch.later(599_999).due).toEqual([]);
    const [ticket] = tickets;
    expect(watch.later(1).due).toMatchObject([
      { kind: 'expire-waiter', asker: { nodeId: 'b' }, ticket, renewed: ticket!.revision },
    ]);
  });

  it('lets a request that writes nothing postpone the drop', () => {
    const { watch } = queueOf('b', 'c');
    watch.later(200_000).clock.asked(asker('b'), watch.nowMs);
    expect(watch.nextMs).toBe(600_000);
    expect(watch.later(400_000).due).toMatchObject([{ asker: { nodeId: 'c' } }]);
    expect(watch.later(199_999).due).toHaveLength(1);
    expect(watch.later(1).due).toHaveLength(2);
  });

  it('asks for a write only when half of its time has passed since the waiter was last written', () => {
    const { layer, watch } = queueOf('b');
    const touches = () => watch.clock.shouldTouch(asker('b'), watch.nowMs, policy);
    watch.later(299_999).clock.asked(asker('b'), watch.nowMs);
    expect(touches()).toBe(false);
    watch.later(1);
    expect(touches()).toBe(true);
    layer.acquire('pull', 'b', { touch: true });
    watch.look();
    expect(touches()).toBe(false);
    expect(watch.nextMs).toBe(900_000);
  });

  it('knows nothing of those with a session, or when waiters are never dropped', () => {
    const { watch, layer } = queueOf('b/session');
    expect(watch.nextMs).toBe(Infinity);
    expect(watch.clock.shouldTouch(asker('b/session'), 1e9, policy)).toBe(false);
    layer.queue('pull', 'c');
    expect(new Watch(layer, { ...policy, waiterTtlMs: 0 }).nextMs).toBe(Infinity);
  });

  it('forgets who left, and keeps the time of who stays', () => {
    const { layer, watch } = queueOf('b', 'c');
    layer.withdraw('pull', 'b');
    watch.later(1000).look();
    expect(watch.later(599_000).due).toMatchObject([{ asker: { nodeId: 'c' } }]);
    layer.withdraw('pull', 'c');
    expect(watch.look().kinds).toEqual([]);
  });

  it('watches a waiter that left and came back behind thousands of others', () => {
    const crowd = Array.from({ length: 1000 }, (_, i) => `node-${i}`);
    const { layer, watch } = queueOf('b', ...crowd);
    const type = 'pull';
    layer.combine(
      { kind: 'withdraw', type, asker: asker('b'), error: 'cancelled' },
      { kind: 'acquire', type, asker: asker('b') },
    );
    watch.later(1000).look();
    expect(watch.later(599_000).due).toHaveLength(1000);
    expect(watch.later(1000).due).toHaveLength(1001);
  });
});

describe('KeyClock: memories', () => {
  it('forgets an outcome after its time', () => {
    const layer = resource();
    layer.grant('scan', 'a');
    layer.grant('pull', 'a');
    layer.succeed('pull', 'a');
    const watch = new Watch(layer);
    expect(watch.later(299_999).kinds).toEqual([]);
    expect(watch.later(1).due).toEqual([{ kind: 'forget', type: 'pull', upTo: layer.revision }]);
    layer.forget('pull');
    expect(keyOf(layer.state, 'pull')).toBeUndefined();
  });

  it('forgets each at most a sixteenth of its time late, with few marks, on a key that is never quiet', () => {
    const layer = resource({ refcountMode: 'client' });
    const watch = new Watch(layer);
    const made = new Map<number, number>();
    for (let run = 0; run < 700; run++) {
      layer.grant('pull', 'a');
      watch.look();
      layer.queue('pull', `node-${run}`);
      layer.succeed('pull', 'a');
      made.set(layer.revision, watch.nowMs);
      watch.look();
      for (const command of watch.due) {
        if (command.kind === 'forget') layer.run(command);
        watch.look();
      }
      const [oldest] = layer.key('pull').dismissals;
      expect(watch.nowMs - made.get(oldest!.outcome.moment.revision)!).toBeLessThanOrEqual(
        policy.completionTtlMs * (1 + 1 / 16),
      );
      expect((watch.clock as unknown as { marks: unknown[] }).marks.length).toBeLessThanOrEqual(18);
      watch.later(2003);
    }
  });
});
