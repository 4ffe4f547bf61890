import { describe, expect, it } from 'vitest';
import { asker, resource } from '../../test/support/resource-driver.js';
import { DEFAULT_POLICY } from '../../test/support/default-policy.js';
import { type Command } from './commands.js';
import { MAX_DISMISSALS } from './limits.js';
import { EMPTY_STATE, isIdle, keyOf } from './state.js';
import { transition } from './transition.js';

/** n2 was dismissed by n1's success. */
function dismissed(type = 'update') {
  const r = resource();
  r.grant(type, 'n1');
  const ticket = r.queue(type, 'n2');
  r.succeed(type, 'n1');
  return { r, ticket, moment: { revision: r.revision, n: 0 } };
}

describe('a dismissal', () => {
  it('is spent by the lock answer that tells it', () => {
    const { r } = dismissed();
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'skipped' });
    expect(r.dismissed('update')).toEqual([]);
  });

  it('stays until its delivery is reported, when the answer may not arrive', () => {
    const { r, moment } = dismissed();
    expect(r.acquire('update', 'n2', { deliveredLater: true })).toMatchObject({ kind: 'skipped' });
    expect(r.acquire('update', 'n2', { deliveredLater: true })).toMatchObject({ kind: 'skipped' });
    expect(r.spend('update', 'n2', moment)).toBe(true);
    expect(r.dismissed('update')).toEqual([]);
    expect(r.spend('update', 'n2', moment)).toBe(false);
  });

  it('is not spent by the delivery of an older one', () => {
    const { r, moment } = dismissed();
    expect(r.spend('update', 'n2', { ...moment, n: 1 })).toBe(false);
    expect(r.spend('update', 'n2', { ...moment, revision: moment.revision - 10 })).toBe(false);
    expect(r.spend('update', 'n2/s1', moment)).toBe(false);
    expect(r.dismissed('update')).toEqual(['n2']);
  });

  it('survives later runs of other askers', () => {
    const { r } = dismissed();
    r.grant('update', 'n3');
    r.fail('update', 'n3');
    r.grant('update', 'n3');
    r.failFatally('update', 'n3');
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'skipped', nodeId: 'n1', wasDismissed: true });
  });

  it('is shared, not copied, among those dismissed together', () => {
    const r = resource();
    r.grant('update', 'n1');
    for (const node of ['n2', 'n3', 'n4']) r.queue('update', node);
    r.succeed('update', 'n1');
    const outcomes = Array.from(r.key('update').dismissals, ({ outcome }) => outcome);
    expect(new Set(outcomes).size).toBe(1);
    expect(outcomes[0]!.moment.revision).toBe(r.revision);
  });

  it('is the oldest to go when there are more than can be kept', () => {
    const policy = { ...DEFAULT_POLICY, maxQueueLength: MAX_DISMISSALS };
    let state = EMPTY_STATE;
    const run = (command: Command) => {
      state = transition(state, command, 0, policy).state;
    };
    const acquire = (name: string) => run({ kind: 'acquire', type: 'scan', asker: asker(name) });
    const succeed = () =>
      run({
        kind: 'release',
        type: 'scan',
        asker: asker('worker'),
        success: true,
        error: '',
        fatal: false,
      });
    acquire('worker');
    for (let i = 0; i < MAX_DISMISSALS; i++) acquire(`n${i}`);
    succeed();
    expect(keyOf(state, 'scan')!.dismissals.size).toBe(MAX_DISMISSALS);
    acquire('worker');
    for (const name of ['late-1', 'late-2', 'late-3']) acquire(name);
    succeed();
    const { dismissals } = keyOf(state, 'scan')!;
    expect(dismissals.size).toBe(MAX_DISMISSALS);
    expect(dismissals.first?.nodeId).toBe('n3');
    expect(dismissals.has(asker('late-3'))).toBe(true);
  });
});

describe('forgetting', () => {
  it('drops outcome, dismissals and last release of that revision and before, and then the whole key', () => {
    const { r } = dismissed();
    expect(r.forget('update', r.revision)).toBe(true);
    expect(isIdle(r.state)).toBe(true);
  });

  it('keeps everything that is newer', () => {
    const { r } = dismissed();
    const { state } = r;
    expect(r.forget('update', r.revision - 1)).toBe(false);
    expect(r.state).toBe(state);
  });

  it('judges each by its own age', () => {
    const { r } = dismissed();
    const old = r.revision;
    r.grant('update', 'n3');
    r.queue('update', 'n4');
    r.failFatally('update', 'n3');
    expect(r.dismissed('update')).toEqual(['n2', 'n4']);
    r.forget('update', old);
    expect(r.key('update')).toMatchObject({ success: undefined, failure: { error: 'not found' } });
    expect(r.key('update').lastRelease).toMatchObject({ nodeId: 'n3' });
    expect(r.dismissed('update')).toEqual(['n4']);
    r.forget('update');
    expect(isIdle(r.state)).toBe(true);
  });

  it('leaves a success that is newer than a forgotten release of the same key', () => {
    const { r } = dismissed();
    r.forget('update', r.revision - 5);
    expect(r.key('update').success).toBeDefined();
  });

  it('does not reach what is being remembered in the same commit', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    const release = {
      kind: 'release',
      type: 'update',
      asker: asker('n1'),
      success: true,
      error: '',
      fatal: false,
    } as const;
    const [, forgotten] = r.combine(release, { kind: 'forget', type: 'update', upTo: r.revision });
    expect(forgotten).toEqual({ kind: 'noted', changed: false });
    expect(r.dismissed('update')).toEqual(['n2']);
    expect(r.key('update').success).toBeDefined();
    expect(r.key('update').lastRelease).toBeDefined();
  });

  it('touches neither holds, nor waiters, nor references', () => {
    const r = resource();
    r.refer('n9');
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.forget('scan');
    expect([r.holder('scan'), r.waiting('scan'), r.references]).toEqual(['n1', ['n2'], ['n9']]);
  });

  it('makes a repeated release unknown', () => {
    const { r } = dismissed();
    r.forget('update');
    expect(r.succeed('update', 'n1')).toMatchObject({ kind: 'refused', code: 'LOCK_NOT_FOUND' });
  });
});

describe('forgetting up to no revision', () => {
  it('forgets nothing: the mark of the commit being built is no revision', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.succeed('update', 'n1');
    expect(r.run({ kind: 'forget', type: 'update', upTo: 0 })).toEqual({ kind: 'noted', changed: false });
    expect(r.key('update').success).toBeDefined();
  });
});
