import { describe, expect, it } from 'vitest';
import { refusal, resource } from '../../test/support/resource-driver.js';

describe('a pull that looked and did not find the bytes', () => {
  it('is granted in spite of references', () => {
    const r = resource();
    r.refer('n1');
    expect(r.acquire('pull', 'n2', { absent: true })).toMatchObject({ kind: 'acquired' });
  });

  it('is granted in spite of a recent success', () => {
    const r = resource({ refcountMode: 'client', completedSkipMs: 1000 });
    r.grant('pull', 'n1');
    r.succeed('pull', 'n1');
    expect(r.acquire('pull', 'n2', { absent: true })).toMatchObject({ kind: 'acquired' });
  });

  it.each(['success', 'failure'] as const)(
    'is granted in spite of a dismissal by %s, which is gone',
    (end) => {
      const r = resource();
      r.grant('pull', 'n1');
      r.queue('pull', 'n2');
      if (end === 'success') r.succeed('pull', 'n1');
      else r.failFatally('pull', 'n1');
      expect(r.acquire('pull', 'n2', { absent: true })).toMatchObject({ kind: 'acquired' });
      expect(r.dismissed('pull')).toEqual([]);
    },
  );

  it('is queued in spite of a dismissal, which is gone', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.failFatally('pull', 'n1');
    r.grant('pull', 'n3');
    expect(r.acquire('pull', 'n2', { absent: true })).toMatchObject({ kind: 'queued' });
    expect(r.dismissed('pull')).toEqual([]);
  });

  it('is still skipped by a success newer than its ticket', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const ticket = r.queue('pull', 'n2', { absent: true });
    r.withdraw('pull', 'n2');
    r.succeed('pull', 'n1');
    expect(r.acquire('pull', 'n2', { absent: true, ticket })).toMatchObject({ kind: 'skipped' });
  });

  it('is remembered as such while it waits: asking again without saying so does not skip it', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2', { absent: true });
    r.refer('n9');
    expect(r.acquire('pull', 'n2')).toMatchObject({ kind: 'queued' });
    expect(r.acquire('pull', 'n2', { absent: false })).toMatchObject({ kind: 'skipped' });
  });

  it('is remembered as such when it is served', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2', { absent: true });
    r.refer('n9');
    r.fail('pull', 'n1');
    expect(r.holder('pull')).toBe('n2');
  });

  it('is a matter of pulls: a delete that says so is refused all the same', () => {
    const r = resource({ updateRequiresNoRef: true });
    r.refer('n1');
    expect(r.acquire('delete', 'n2', { absent: true })).toMatchObject(refusal('RESOURCE_IN_USE'));
    expect(r.acquire('update', 'n2', { absent: true })).toMatchObject(refusal('RESOURCE_IN_USE'));
  });
});
