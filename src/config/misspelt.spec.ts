import { describe, expect, it } from 'vitest';
import { misspelt } from './misspelt.js';

describe('misspelt', () => {
  it.each([
    ['STORE_URI', 'STORE_URL'],
    ['LOCK_ISOLATON', 'LOCK_ISOLATION'],
    ['SSE_HEARTBEATS_MS', 'SSE_HEARTBEAT_MS'],
    ['STOER_URL', 'STORE_URL'],
    ['CLAIM_TIMEOUT', 'CLAIM_TIMEOUT_MS'],
  ])('finds %s, which is meant to be %s', (name, meant) => {
    expect(misspelt({ [name]: 'x' })).toEqual([`${name} is no setting and was ignored. Is ${meant} meant?`]);
  });

  it('says nothing of settings, nor of what others have in the environment', () => {
    const others = ['PATH', 'PWD', 'PORTS', 'HOSTNAME', 'POST', 'LANG', 'LOGNAME', 'STORE', 'NODE_ENV'];
    const names = ['STORE_URL', 'LOCK_ISOLATION', 'PORT', ...others];
    expect(misspelt(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
  });
});
