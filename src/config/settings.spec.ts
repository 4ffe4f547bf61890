import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { readSettings } from './settings.js';
import { type SettingsError } from './settings-reader.js';

function problems(environment: Record<string, string>): readonly string[] {
  try {
    readSettings(environment);
  } catch (error) {
    return (error as SettingsError).problems;
  }
  return [];
}

describe('readSettings', () => {
  it('needs nothing set', () => {
    expect(readSettings({})).toMatchObject({
      port: 8086,
      host: '127.0.0.1',
      storeUrl: 'file:./data',
      lanes: [],
    });
  });

  it('agrees with config/example.env, which names every variable and its default', () => {
    const lines = readFileSync('config/example.env', 'utf8').split('\n');
    const example = lines.flatMap((line) => {
      const [, name, value] = /^#?([A-Z_]+)=(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value ?? ''] as const];
    });
    expect(readSettings(Object.fromEntries(example))).toEqual(readSettings({}));
    expect(new Set(example.map(([name]) => name)).size).toBe(Object.keys(readSettings({})).length);
  });

  it('names every variable that is wrong, at once', () => {
    expect(
      problems({ PORT: 'http', SHARD_COUNT: '0', LOCK_ISOLATION: 'both', STORE_URL: 'mysql://x' }),
    ).toEqual([
      'PORT must be a whole number from 0 to 65535, not "http"',
      'SHARD_COUNT must be a whole number from 1 to 4096, not "0"',
      'LOCK_ISOLATION must be operation or resource, not "both"',
      'STORE_URL must be memory:, file:DIR, redis://…, redis+sentinel://…, redis+cluster://… or etcd://…, not "mysql://x"',
    ]);
  });

  it.each([
    [{ COMPLETED_SKIP_MS: '2', COMPLETION_TTL_MS: '1' }, 'COMPLETED_SKIP_MS'],
    [{ STORE_URL: 'redis://localhost/zero' }, 'STORE_URL'],
    [{ STORE_URL: 'redis://localhost', KEY_PREFIX: '{a}' }, 'STORE_URL'],
    [{ STORE_URL: 'etcd://localhost?tsl=1' }, 'STORE_URL'],
    [{ STORE_URL: 'redis://localhost', REFCOUNT_STORAGE: 'memory:' }, 'REFCOUNT_STORAGE'],
    [{ STORE_URL: 'etcd://a,b,c', REFCOUNT_STORAGE: 'file:./counts' }, 'REFCOUNT_STORAGE'],
    [{ REFCOUNT_STORAGE: 'memory:', REFCOUNT_MODE: 'client' }, 'REFCOUNT_STORAGE'],
    [{ LANES: 'a,b,a' }, 'LANES'],
    [{ LANES: 'a,b c' }, 'LANES'],
    [{ LANES: Array.from({ length: 17 }, (_, n) => `l${n}`).join() }, 'LANES'],
    [{ DEFAULT_LEASE_MS: '-1' }, 'DEFAULT_LEASE_MS'],
    [{ DEFAULT_LEASE_MS: '1e3' }, 'DEFAULT_LEASE_MS'],
    [{ ALLOW_MULTI_NODE_DOWNLOAD: 'yes' }, 'ALLOW_MULTI_NODE_DOWNLOAD'],
  ])('refuses %o', (environment: Record<string, string>, name) => {
    expect(problems(environment)).toEqual([expect.stringContaining(name)]);
  });

  it('says of a list whether a name is none, or is there twice', () => {
    expect(problems({ LANES: 'a,b,a' })).toEqual(['LANES must name each only once, and has "a" twice']);
    expect(problems({ LANES: 'a,b c' })).toEqual([
      'LANES must be names separated by commas; "b c" is not one',
    ]);
  });

  it.each([
    'memory:',
    'file:./data',
    'redis://user:p%40ss@redis.example:6380/2',
    'rediss+sentinel://s1,s2:26380/main?db=1',
    'redis+cluster://[::1]:7000,c2:7001?wait=1',
    'etcd://root:secret@h1:2379,h2?tls=1&ca=/etc/ca.pem',
  ])('takes STORE_URL=%s', (url) => {
    expect(readSettings({ STORE_URL: url }).storeUrl).toBe(url);
  });

  it('does not repeat a password', () => {
    expect(problems({ STORE_URL: 'mysql://me:secret@host' })).toEqual([
      expect.not.stringContaining('secret'),
    ]);
    expect(problems({ STORE_URL: 'redis://me:secret@host/x' })).toEqual([
      expect.not.stringContaining('secret'),
    ]);
  });

  it('takes an empty variable for one that is not set', () => {
    expect(readSettings({ PORT: '', LANES: '' })).toEqual(readSettings({}));
  });
});
