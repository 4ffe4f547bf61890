import { describe, expect, it } from 'vitest';
import { asker, resource } from '../../test/support/resource-driver.js';
import { type Release } from './commands.js';
import { settle } from './settle.js';

const release: Release = {
  kind: 'release',
  type: 'scan',
  asker: asker('n1'),
  success: true,
  error: '',
  fatal: false,
};

describe('settling a commit', () => {
  it('gives everything created in it the same revision, and its events their numbers', () => {
    const r = resource();
    const results = r.combine(
      { kind: 'acquire', type: 'scan', asker: asker('n1') },
      { kind: 'acquire', type: 'scan', asker: asker('n2') },
      { kind: 'acquire', type: 'scan', asker: asker('n3') },
    );
    const { revision } = r;
    expect(results).toMatchObject([
      { token: revision },
      { ticket: { revision, n: 1 } },
      { ticket: { revision, n: 2 } },
    ]);
    expect(r.events.map(({ moment }) => moment)).toEqual([0, 1, 2].map((n) => ({ revision, n })));
    expect(r.events[0]).toMatchObject({ token: revision });
  });

  it('names the token of a run that began and ended in it everywhere the token is remembered', () => {
    const r = resource();
    r.combine({ kind: 'acquire', type: 'scan', asker: asker('n1') }, release);
    const { revision } = r;
    expect(r.key('scan')).toMatchObject({
      success: { token: revision, moment: { revision, n: 1 } },
      lastRelease: { token: revision, moment: { revision, n: 1 } },
    });
    expect(r.events[1]).toMatchObject({ name: 'completed', token: revision });
  });

  it('resolves the ticket of a wait that became a hold in it', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.combine(
      { kind: 'acquire', type: 'scan', asker: asker('n2') },
      { ...release, success: false, error: 'broken' },
    );
    const { revision } = r;
    expect(r.key('scan').hold).toMatchObject({ token: revision, ticket: { revision, n: 0 } });
  });

  it('leaves what was settled before', () => {
    const r = resource();
    const token = r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.failFatally('scan', 'n1');
    r.grant('update', 'n1');
    expect(settle(r.state, 999)).toEqual(r.state);
    expect(r.key('scan').failure).toMatchObject({ token });
  });

  it('starts the numbering of events again', () => {
    const r = resource();
    r.grant('scan', 'n1');
    expect(r.state.pendingEvents).toBe(0);
    r.queue('scan', 'n2');
    expect(r.events[0]!.moment.n).toBe(0);
  });
});
