import { StoreError } from './store.error.js';

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** `scheme://user:password@h1:1,h2:2/path?a=1&b=2`: what `URL` would be if it knew several hosts. */
const ENGINE_URL =
  /^(?<scheme>[a-z+]+):\/\/(?:(?<user>[^:@/?]*)(?::(?<password>[^@/?]*))?@)?(?<hosts>[^/?@]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;

const HOST = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>\d{1,5}))?$/;

/** The address of an outside engine, taken apart. Every problem is a `StoreError` that does not repeat the password. */
export class EngineUrl {
  readonly scheme: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly hosts: readonly HostAndPort[];
  readonly path: string;
  private readonly query: URLSearchParams;
  private readonly read = new Set<string>();

  constructor(text: string, defaultPort: number) {
    const parts = ENGINE_URL.exec(text)?.groups;
    if (!parts) throw badUrl('it must look like scheme://user:password@host:port,host:port/path?name=value');
    this.scheme = parts['scheme']!;
    this.username = decoded(parts['user']);
    this.password = decoded(parts['password']);
    this.hosts = parts['hosts']!.split(',').map((host) => hostAndPort(host, defaultPort));
    this.path = decoded(parts['path']) ?? '';
    this.query = new URLSearchParams(parts['query']);
  }

  text(name: string): string | undefined {
    this.read.add(name);
    return this.query.get(name) || undefined;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw badUrl(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
  }

  /** After everything was read: what is left is a mistake, and silence about it would be another. */
  refuseUnread(): void {
    const unread = [...this.query.keys()].find((name) => !this.read.has(name));
    if (unread === undefined) return;
    throw badUrl(`"${unread}" is not one of its parameters (${[...this.read].join(', ')})`);
  }
}

/** A `STORE_URL` that names no engine that could be opened. */
export class StoreUrlError extends StoreError {
  constructor(readonly problem: string) {
    super('STORE_UNAVAILABLE', 'configure', `STORE_URL is not valid: ${problem}.`);
  }
}

export function badUrl(problem: string): StoreUrlError {
  return new StoreUrlError(problem);
}

function hostAndPort(text: string, defaultPort: number): HostAndPort {
  const { v6, name, port } = HOST.exec(text)?.groups ?? {};
  const host = v6 ?? name;
  if (host === undefined || Number(port) > 65_535) throw badUrl(`"${text}" is not a host or host:port`);
  return { host, port: port === undefined ? defaultPort : Number(port) };
}

function decoded(text: string | undefined): string | undefined {
  if (!text) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw badUrl('a "%" in the user, the password or the path must be written %25');
  }
}
