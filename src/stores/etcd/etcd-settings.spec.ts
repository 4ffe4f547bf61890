import { describe, expect, it } from 'vitest';
import { etcdSettings } from './etcd-settings.js';

describe('etcdSettings', () => {
  it('takes members, user and TLS apart', () => {
    const url = 'etcd://root:secret@h1,h2:2380?tls=1&ca=/ca.pem&cert=/c.pem&key=/k.pem&timeout_ms=500';
    expect(etcdSettings(url)).toEqual({
      hosts: [
        { host: 'h1', port: 2379 },
        { host: 'h2', port: 2380 },
      ],
      username: 'root',
      password: 'secret',
      tls: { ca: '/ca.pem', cert: '/c.pem', key: '/k.pem' },
      timeoutMs: 500,
    });
  });

  it('needs only a host', () => {
    expect(etcdSettings('etcd://localhost')).toMatchObject({ username: undefined, tls: undefined });
  });

  it.each([
    ['etcd://h/path', 'KEY_PREFIX'],
    ['etcd://user@h', 'a user and a password'],
    ['etcd://h?ca=/ca.pem', 'need TLS'],
    ['etcd://h?tls=yes', 'tls must be'],
    ['etcd://h,,i', '"" is not a host'],
  ])('refuses %s', (url, problem) => {
    expect(() => etcdSettings(url)).toThrow(problem);
  });
});
