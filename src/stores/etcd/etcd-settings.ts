import { badUrl, EngineUrl, type HostAndPort } from '../engine-url.js';
import { type TlsFiles, tlsFilesOf } from '../tls-files.js';

const ETCD_PORT = 2379;

/** Longer than an election takes by default (1 s), well within a session's time to live. */
const DEFAULT_TIMEOUT_MS = 3000;

export interface EtcdSettings {
  readonly hosts: readonly HostAndPort[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: TlsFiles | undefined;
  /** Longest any call takes. */
  readonly timeoutMs: number;
}

/** `etcd://[user:password@]h1[:2379],h2,h3[?tls=1&ca=…&cert=…&key=…&timeout_ms=…]`. */
export function etcdSettings(text: string): EtcdSettings {
  const url = new EngineUrl(text, ETCD_PORT);
  const settings: EtcdSettings = {
    hosts: url.hosts,
    username: url.username,
    password: url.password,
    tls: tlsFilesOf(url, url.integer('tls', 0, 0, 1) === 1),
    timeoutMs: url.integer('timeout_ms', DEFAULT_TIMEOUT_MS, 50, 60_000),
  };
  url.refuseUnread();
  if (url.path !== '')
    throw badUrl(`etcd:// takes no path ("/${url.path}"); what keys begin with is KEY_PREFIX`);
  if ((settings.username === undefined) !== (settings.password === undefined)) {
    throw badUrl('etcd needs a user and a password, or neither');
  }
  return settings;
}

export function isEtcdUrl(text: string): boolean {
  return text.startsWith('etcd://');
}
