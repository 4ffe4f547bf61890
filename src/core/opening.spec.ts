import { describe, expect, it } from 'vitest';
import { asker, resource, type ResourceDriver } from '../../test/support/resource-driver.js';
import { type Moment } from './moment.js';
import { openingEvents, worthAsking } from './opening.js';

const ANYBODY = { type: 'pull', asker: undefined, lastSeen: undefined };

/** What a subscriber is told, as `name node id`. */
function told(r: ResourceDriver, type: string, who?: string, lastSeen?: Moment): string[] {
  const subscriber = { type, asker: who === undefined ? undefined : asker(who), lastSeen };
  const events = openingEvents(r.state, { revision: r.revision, n: 999 }, subscriber, r.policy);
  return events.map(({ name, nodeId, moment }) => `${name} ${nodeId} ${moment.revision}.${moment.n}`);
}

/** The events of the last commit that subscribers hear live, in the same form. */
function live(r: ResourceDriver): string[] {
  return r.events
    .filter(({ name, observersOnly }) => !observersOnly && ['completed', 'assigned', 'failed'].includes(name))
    .map(({ name, nodeId, moment }) => `${name} ${nodeId} ${moment.revision}.${moment.n}`);
}

function lastMoment(r: ResourceDriver): Moment {
  return r.events.at(-1)!.moment;
}

describe('what a subscriber is told when it comes', () => {
  it('has the ids of the live events', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.fail('scan', 'n1');
    expect(told(r, 'scan', 'n2')).toEqual(live(r));
    r.succeed('scan', 'n2');
    expect(told(r, 'scan')).toEqual(live(r));
    r.grant('pull', 'n1');
    r.succeed('pull', 'n1');
    expect(told(r, 'pull')).toEqual(live(r));
  });

  it('is nothing of a hold that is another’s', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.fail('scan', 'n1');
    expect(told(r, 'scan')).toEqual([]);
    expect(told(r, 'scan', 'n3')).toEqual([]);
    expect(told(r, 'scan', 'n2/s1')).toEqual([]);
  });

  it('is a success only while nobody holds or waits and nothing has failed since', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    expect(told(r, 'scan')).toHaveLength(1);
    r.grant('scan', 'n2');
    expect(told(r, 'scan')).toEqual([]);
    r.fail('scan', 'n2', { fatal: true });
    expect(told(r, 'scan')).toEqual([]);
    const isolated = resource({ lockIsolation: 'resource' });
    isolated.grant('scan', 'n1');
    isolated.succeed('scan', 'n1');
    isolated.grant('build', 'n2');
    expect(told(isolated, 'scan')).toHaveLength(1);
    isolated.queue('scan', 'n3');
    expect(told(isolated, 'scan')).toEqual([]);
  });

  it('is all that is newer than what it saw last, oldest first', () => {
    const r = resource();
    r.grant('scan', 'n0');
    r.succeed('scan', 'n0');
    const seen = lastMoment(r);
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    const success = live(r);
    r.grant('scan', 'n1');
    expect(told(r, 'scan', undefined, seen)).toEqual(success);
    r.queue('scan', 'n2');
    r.fail('scan', 'n1');
    const assigned = live(r);
    expect(told(r, 'scan', undefined, seen)).toEqual([...success, ...assigned]);
    expect(told(r, 'scan', 'n2', seen)).toEqual([...success, ...assigned]);
    expect(told(r, 'scan', undefined, lastMoment(r))).toEqual([]);
  });

  it('is a fatal failure that it missed', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.fail('scan', 'n1', { fatal: true });
    expect(told(r, 'scan', undefined, { revision: 1, n: 0 })).toEqual(live(r));
    expect(told(r, 'scan')).toEqual([]);
  });

  it('is its dismissal, and then what it was assigned since', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.fail('scan', 'n1', { fatal: true });
    const dismissal = live(r);
    r.grant('scan', 'n3');
    expect(told(r, 'scan', 'n2')).toEqual(dismissal);
    expect(told(r, 'scan', 'n3')).toEqual([expect.stringMatching(/^assigned n3 /)]);
  });

  it('is the earliest reference of a pull that nobody runs, as of now', () => {
    const r = resource();
    r.refer('n5');
    const sinceMs = r.nowMs;
    r.nowMs += 1000;
    r.refer('n6');
    const asOf = { revision: r.revision, n: 999 };
    expect(openingEvents(r.state, asOf, ANYBODY, r.policy)).toMatchObject([{ atMs: sinceMs }]);
    const now = `completed n5 ${r.revision}.999`;
    expect(told(r, 'pull')).toEqual([now]);
    expect(told(r, 'pull', undefined, { revision: r.revision, n: 999 })).toEqual([now]);
    expect(told(r, 'scan')).toEqual([]);
    r.grant('delete-marker', 'n1');
    expect(told(r, 'pull')).toHaveLength(1);
    r.grant('pull', 'n1', { absent: true });
    expect(told(r, 'pull')).toEqual([]);
  });

  it('is nothing of references while they do not make a pull unnecessary', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.grant('delete', 'n2');
    r.succeed('pull', 'n1');
    expect(told(r, 'pull')).toEqual([]);
    r.fail('delete', 'n2');
    expect(told(r, 'pull')).toHaveLength(1);
    const clientsCount = { ...r.policy, refcountMode: 'client' } as const;
    expect(openingEvents(r.state, { revision: r.revision, n: 999 }, ANYBODY, clientsCount)).toEqual([]);
    const isolated = resource({ lockIsolation: 'resource' });
    isolated.refer('n1');
    isolated.grant('scan', 'n2');
    expect(told(isolated, 'pull')).toEqual([]);
  });
});

describe('it is worth asking', () => {
  it('when the key is free, or handed over and not claimed', () => {
    const r = resource();
    expect(worthAsking(r.state, 'scan', r.policy)).toBe(true);
    r.grant('scan', 'n1');
    expect(worthAsking(r.state, 'scan', r.policy)).toBe(false);
    expect(worthAsking(r.state, 'pull', r.policy)).toBe(true);
    r.queue('scan', 'n2');
    r.fail('scan', 'n1');
    expect(worthAsking(r.state, 'scan', r.policy)).toBe(true);
    r.claim('scan', 'n2');
    expect(worthAsking(r.state, 'scan', r.policy)).toBe(false);
  });

  it('not while another operation runs on the resource, when they exclude each other', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('scan', 'n1');
    expect(worthAsking(r.state, 'pull', r.policy)).toBe(false);
  });
});
