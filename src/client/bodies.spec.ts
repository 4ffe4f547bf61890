import { describe, expect, it } from 'vitest';
import { identityOf, keyBody, lockBody, renewBody, unlockBody } from './bodies.js';

const KEY = { type: 'pull', resourceId: 'a"b\\c\u0000é' };
const NAMED = { type: 'pull', resource_id: KEY.resourceId, node_id: 'n"1', session_id: 's' };
const identity = identityOf('n"1', 's');

const saying = (body: string) => JSON.parse(body) as unknown;

describe('bodies of requests', () => {
  it('say what was asked, and nothing that was not', () => {
    expect(saying(keyBody(KEY, identity))).toEqual(NAMED);
    expect(saying(keyBody(KEY, identityOf('n"1'), 't'))).toEqual({
      type: 'pull',
      resource_id: KEY.resourceId,
      node_id: 'n"1',
      ticket: 't',
    });
    expect(saying(lockBody(KEY, identity))).toEqual(NAMED);
    const full = { ...KEY, subtype: 'a', leaseMs: 5, absent: true };
    expect(saying(lockBody(full, identity, 't', 9))).toEqual({
      ...NAMED,
      subtype: 'a',
      lease_ms: 5,
      absent: true,
      ticket: 't',
      wait_ms: 9,
    });
    expect(saying(lockBody({ ...KEY, leaseMs: Infinity }, identity))).toEqual(NAMED);
    expect(saying(renewBody(KEY, identity, 3, 4))).toEqual({ ...NAMED, token: 3, lease_ms: 4 });
  });

  it('of an unlock always say how it ended', () => {
    expect(saying(unlockBody(KEY, identity, { success: true }, 3))).toEqual({
      ...NAMED,
      token: 3,
      success: true,
    });
    expect(saying(unlockBody(KEY, identity, { success: false }))).toEqual({
      ...NAMED,
      success: false,
      error: 'unspecified',
    });
    const fatal = { success: false, error: 'x"y', fatal: true } as const;
    expect(saying(unlockBody(KEY, identity, fatal))).toEqual({
      ...NAMED,
      success: false,
      error: 'x"y',
      fatal: true,
    });
  });

  it('cut errors that no server would keep', () => {
    const body = unlockBody(KEY, identity, { success: false, error: 'x'.repeat(1e6) });
    expect(body.length).toBeLessThan(5000);
  });
});
