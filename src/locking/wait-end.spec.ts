import { describe, expect, it } from 'vitest';
import { asker, resource, type ResourceDriver } from '../../test/support/resource-driver.js';
import { type Acquire } from '../core/commands.js';
import { type Moment } from '../core/moment.js';
import { waitEnd } from './wait-end.js';

const ACQUIRE: Acquire = { kind: 'acquire', type: 'scan', asker: asker('n2') };
const LOST = { result: { kind: 'lost' } };

const end = (r: ResourceDriver, ticket: Moment) => waitEnd(r.state, ACQUIRE, ticket, null);

/** `n1` holds, `n2` waits with this ticket. */
function awaited(): { r: ResourceDriver; ticket: Moment } {
  const r = resource();
  r.grant('scan', 'n1');
  return { r, ticket: r.queue('scan', 'n2') };
}

describe('A wait', () => {
  it('goes on while it is queued', () => {
    const { r, ticket } = awaited();
    expect(end(r, ticket)).toBeUndefined();
  });

  it('ends with the lock that was handed to it, which is claimed or given up by its own ticket', () => {
    const { r, ticket } = awaited();
    r.fail('scan', 'n1');
    expect(end(r, ticket)).toMatchObject({
      result: { kind: 'acquired', token: r.key('scan').hold!.token },
      delivered: { kind: 'claim' },
      undelivered: { kind: 'withdraw', ticket },
    });
  });

  it('is lost when its asker waits anew, or was handed the lock for another wait', () => {
    const { r, ticket } = awaited();
    r.withdraw('scan', 'n2');
    expect(end(r, ticket)).toEqual(LOST);
    r.queue('scan', 'n2');
    expect(end(r, ticket)).toEqual(LOST);
    r.fail('scan', 'n1');
    expect(r.holder('scan')).toBe('n2');
    expect(end(r, ticket)).toEqual(LOST);
  });
});
