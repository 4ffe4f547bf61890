import { describe, expect, it } from 'vitest';
import { asker, refusal, resource } from '../../test/support/resource-driver.js';
import { judgeRelease } from './release.js';

describe('whose hold an unlock means', () => {
  it('is refused when there is no hold', () => {
    expect(resource().succeed('pull', 'n1')).toMatchObject(refusal('LOCK_NOT_FOUND'));
  });

  it('is never another node’s, even with the token', () => {
    const r = resource();
    const token = r.grant('pull', 'n1');
    expect(r.succeed('pull', 'n2', { token })).toEqual({
      kind: 'refused',
      code: 'NOT_HOLDER',
      error: 'held by n1',
    });
    expect(r.holder('pull')).toBe('n1');
  });

  it('is not another session’s without the token', () => {
    const r = resource();
    const token = r.grant('pull', 'n1/s1');
    expect(r.succeed('pull', 'n1')).toMatchObject(refusal('NOT_HOLDER'));
    expect(r.succeed('pull', 'n1/s2')).toMatchObject(refusal('NOT_HOLDER'));
    expect(r.succeed('pull', 'n1', { token })).toMatchObject({ kind: 'released' });
  });

  it('is refused with a token that is not the hold’s', () => {
    const r = resource();
    const token = r.grant('pull', 'n1');
    expect(r.succeed('pull', 'n1', { token: token - 1 })).toMatchObject(refusal('STALE_TOKEN'));
    expect(r.succeed('pull', 'n1', { token })).toMatchObject({ kind: 'released' });
  });

  it('is refused for a session that has ended', () => {
    const r = resource();
    r.grant('pull', 'n1/s1');
    expect(r.succeed('pull', 'n1/s1', { sessionEnded: true })).toMatchObject(refusal('SESSION_NOT_FOUND'));
    expect(r.holder('pull')).toBe('n1/s1');
  });

  it('changes nothing when it is refused', () => {
    const r = resource();
    r.grant('pull', 'n1');
    const { state } = r;
    r.succeed('pull', 'n2');
    r.succeed('update', 'n1');
    expect(r.state).toBe(state);
  });

  it('can be asked beforehand without releasing anything', () => {
    const r = resource();
    const token = r.grant('pull', 'n1');
    const question = {
      kind: 'release',
      type: 'pull',
      asker: asker('n1'),
      success: true,
      error: '',
      fatal: false,
    } as const;
    expect(judgeRelease(r.state, question)).toMatchObject({ kind: 'hold', hold: { token } });
    expect(judgeRelease(r.state, { ...question, asker: asker('n2') })).toMatchObject(refusal('NOT_HOLDER'));
  });
});

describe('repeating the last release', () => {
  it('gets the same answer again, also after the key has passed on, and changes nothing', () => {
    const r = resource();
    const token = r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    const answer = r.fail('scan', 'n1');
    expect(answer).toEqual({ kind: 'released', nextHolder: 'n2' });
    const { state } = r;
    expect(r.fail('scan', 'n1')).toEqual(answer);
    expect(r.fail('scan', 'n1', { token })).toEqual(answer);
    expect(r.state).toBe(state);
    r.succeed('scan', 'n2');
    expect(r.fail('scan', 'n1')).toMatchObject(refusal('LOCK_NOT_FOUND'));
  });

  it('is told apart by success, error, fatality, token and asker', () => {
    const r = resource();
    const token = r.grant('scan', 'n1/s1');
    r.fail('scan', 'n1/s1');
    expect(r.fail('scan', 'n1/s1')).toMatchObject({ kind: 'released' });
    expect(r.succeed('scan', 'n1/s1')).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.succeed('scan', 'n1/s1', { error: 'broken' })).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.fail('scan', 'n1/s1', { error: 'other' })).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.fail('scan', 'n1/s1', { fatal: true })).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.fail('scan', 'n1/s1', { token: token + 1 })).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.fail('scan', 'n1/s2')).toMatchObject(refusal('LOCK_NOT_FOUND'));
    expect(r.fail('scan', 'n2/s1', { token })).toMatchObject(refusal('LOCK_NOT_FOUND'));
  });

  it('may name the hold by node and token, as the release itself may', () => {
    const r = resource();
    const token = r.grant('scan', 'n1/s1');
    r.succeed('scan', 'n1', { token });
    expect(r.succeed('scan', 'n1', { token })).toMatchObject({ kind: 'released' });
    expect(r.succeed('scan', 'n1/s1')).toMatchObject({ kind: 'released' });
  });

  it('is judged before the end of the session', () => {
    const r = resource();
    r.grant('scan', 'n1/s1');
    r.succeed('scan', 'n1/s1');
    expect(r.succeed('scan', 'n1/s1', { sessionEnded: true })).toMatchObject({ kind: 'released' });
  });

  it('is a new release once the asker holds the key again', () => {
    const r = resource();
    r.grant('scan', 'n1');
    r.succeed('scan', 'n1');
    r.grant('scan', 'n1');
    expect(r.succeed('scan', 'n1')).toMatchObject({ kind: 'released' });
    expect(r.holder('scan')).toBeUndefined();
  });

  it('is remembered under hand-over too', () => {
    const r = resource({ successPolicy: 'handover' });
    r.grant('scan', 'n1');
    r.queue('scan', 'n2');
    r.succeed('scan', 'n1');
    expect(r.succeed('scan', 'n1')).toEqual({ kind: 'released', nextHolder: 'n2' });
    expect(r.holder('scan')).toBe('n2');
  });
});
