import { describe, expect, it } from 'vitest';
import { redisSettings } from './redis-settings.js';

describe('redisSettings', () => {
  it('takes a single server apart', () => {
    expect(redisSettings('redis://me:p%40ss@redis.example:6380/2?timeout_ms=500')).toMatchObject({
      mode: 'single',
      hosts: [{ host: 'redis.example', port: 6380 }],
      username: 'me',
      password: 'p@ss',
      db: 2,
      timeoutMs: 500,
      tls: undefined,
    });
  });

  it('needs only a host', () => {
    expect(redisSettings('redis://localhost')).toMatchObject({
      hosts: [{ host: 'localhost', port: 6379 }],
      username: undefined,
      password: undefined,
      db: 0,
      wait: 0,
      partitions: 1,
    });
  });

  it('spreads its state over partitions where there is something to spread it over', () => {
    expect(redisSettings('redis+cluster://h').partitions).toBe(16);
    expect(redisSettings('redis+sentinel://h/main').partitions).toBe(1);
    expect(redisSettings('redis://h?partitions=4').partitions).toBe(4);
  });

  it('shares the history out among the partitions that the state has, unless it is told how much each keeps', () => {
    const total = 128 * 1024 * 1024;
    expect(redisSettings('redis://h').historyBytes(1)).toBe(total);
    expect(redisSettings('redis://h').historyBytes(16)).toBe(total / 16);
    expect(redisSettings('redis://h?history_mb=2').historyBytes(16)).toBe(2 * 1024 * 1024);
  });

  it('takes a password without a user', () => {
    expect(redisSettings('redis://:secret@h')).toMatchObject({ username: undefined, password: 'secret' });
  });

  it('takes Sentinels apart, and the name of what they watch', () => {
    const url = 'rediss+sentinel://:secret@s1,s2:26380/main?db=3&sentinel_password=other';
    expect(redisSettings(url)).toMatchObject({
      mode: 'sentinel',
      hosts: [
        { host: 's1', port: 26379 },
        { host: 's2', port: 26380 },
      ],
      sentinelName: 'main',
      sentinelPassword: 'other',
      db: 3,
      tls: { ca: undefined },
    });
  });

  it('takes nodes of a Cluster apart', () => {
    expect(redisSettings('redis+cluster://[::1]:7000,c2?wait=1&wait_timeout_ms=100')).toMatchObject({
      mode: 'cluster',
      hosts: [
        { host: '::1', port: 7000 },
        { host: 'c2', port: 6379 },
      ],
      wait: 1,
      waitTimeoutMs: 100,
    });
  });

  it.each([
    ['redis://', 'it must look like'],
    ['redis://h1,h2', 'redis+sentinel://'],
    ['redis://h:99999', '"h:99999" is not a host'],
    ['redis://h/zero', 'number of a database'],
    ['redis://h?waits=1', '"waits" is not one of its parameters'],
    ['redis://h?wait=many', 'wait must be a whole number'],
    ['redis://h?wait=1&wait_timeout_ms=3000', 'less than timeout_ms'],
    ['redis://h?partitions=0', 'partitions must be'],
    ['redis://h?ca=/ca.pem', 'need TLS'],
    ['rediss://h?cert=/c.pem', 'cert and key need each other'],
    ['redis://a%:b@h', 'must be written %25'],
    ['redis+sentinel://s1,s2', 'name of the primary'],
    ['redis+cluster://c1/1', 'only database 0'],
  ])('refuses %s', (url, problem) => {
    expect(() => redisSettings(url)).toThrow(problem);
  });
});
