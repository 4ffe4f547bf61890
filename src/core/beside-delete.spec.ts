import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';

describe('beside a delete that is held', () => {
  it('a pull with references is not skipped but granted', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.grant('pull', 'n2');
    r.succeed('pull', 'n2');
    expect(r.references).toEqual(['n2']);
    expect(r.acquire('pull', 'n3')).toMatchObject({ kind: 'acquired' });
  });

  it('a success of another type applies its reference rule, is not recorded, and hands on to the next', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.grant('pull', 'n2');
    r.queue('pull', 'n3');
    r.queue('pull', 'n4');
    expect(r.succeed('pull', 'n2')).toEqual({ kind: 'released', nextHolder: 'n3' });
    expect(r.references).toEqual(['n2']);
    expect(r.key('pull').success).toBeUndefined();
    expect(r.told).toEqual(['completed pull n2', 'assigned pull n3']);
    expect(r.events[0]).toMatchObject({ observersOnly: true, dismissed: 0, success: true });
    expect(r.waiting('pull')).toEqual(['n4']);
  });

  it('another delete may be skipped', () => {
    const r = resource();
    r.grant('delete', 'n1');
    const ticket = r.queue('delete', 'n2');
    r.withdraw('delete', 'n2');
    r.succeed('delete', 'n1');
    r.grant('delete', 'n3');
    expect(r.acquire('delete', 'n2', { ticket })).toMatchObject({ kind: 'skipped', nodeId: 'n1' });
  });

  it('refusals are still told', () => {
    const r = resource({ updateRequiresNoRef: true });
    r.grant('delete', 'n1');
    r.grant('pull', 'n2');
    r.succeed('pull', 'n2');
    expect(r.acquire('update', 'n3')).toMatchObject(refusal('RESOURCE_IN_USE'));
  });
});
