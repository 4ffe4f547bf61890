import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';
import { isIdle } from './state.js';

describe('a reference', () => {
  it('is added once per node, with an event and the count', () => {
    const r = resource();
    expect(r.refer('n1')).toEqual({ kind: 'counted', count: 1 });
    expect(r.told).toEqual(['referenced n1']);
    expect(r.events[0]).toMatchObject({ referenceCount: 1 });
    const { state } = r;
    expect(r.refer('n1')).toEqual({ kind: 'counted', count: 1 });
    expect(r.state).toBe(state);
  });

  it('is refused while the resource is being deleted', () => {
    const r = resource();
    r.grant('delete', 'n1');
    expect(r.refer('n2')).toMatchObject(refusal('LOCK_HELD'));
    r.fail('delete', 'n1');
    expect(r.refer('n2')).toMatchObject({ count: 1 });
  });

  it('is released by its node, with an event and the count', () => {
    const r = resource();
    r.refer('n1');
    r.refer('n2');
    expect(r.unrefer('n1')).toEqual({ kind: 'counted', count: 1 });
    expect(r.told).toEqual(['unreferenced n1']);
    expect(r.events[0]).toMatchObject({ referenceCount: 1 });
    expect(r.references).toEqual(['n2']);
  });

  it('that does not exist can be released without effect', () => {
    const r = resource();
    const { state } = r;
    expect(r.unrefer('n1')).toEqual({ kind: 'counted', count: 0 });
    expect(r.state).toBe(state);
  });

  it('keeps the record, and its release lets it go', () => {
    const r = resource();
    r.refer('n1');
    expect(isIdle(r.state)).toBe(false);
    r.unrefer('n1');
    expect(isIdle(r.state)).toBe(true);
  });

  it('can be released while a delete is held', () => {
    const r = resource();
    r.grant('delete', 'n1');
    r.grant('pull', 'n2');
    r.succeed('pull', 'n2');
    expect(r.unrefer('n2')).toMatchObject({ count: 0 });
  });

  it('is not the server’s business when the clients count', () => {
    const r = resource({ refcountMode: 'client' });
    expect(r.refer('n1')).toMatchObject(refusal('REFCOUNT_DISABLED'));
    expect(r.unrefer('n1')).toMatchObject(refusal('REFCOUNT_DISABLED'));
  });
});
