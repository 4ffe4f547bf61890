import { decodeExact, encodeExact } from '../exact-utf8.js';

export interface KeyRange {
  readonly key: Buffer;
  readonly range_end: Buffer;
}

/** Where things are in etcd: `<prefix>state` says how the state is written, `<prefix>items/…` are the items. */
export class EtcdKeys {
  readonly marker: Buffer;
  private readonly items: Buffer;

  constructor(keyPrefix: string) {
    this.marker = Buffer.from(`${keyPrefix}state`);
    this.items = Buffer.from(`${keyPrefix}items/`);
  }

  of(key: string): Buffer {
    return Buffer.concat([this.items, encodeExact(key)]);
  }

  nameOf(key: Buffer): string {
    return decodeExact(key, this.items.length, key.length);
  }

  /** All items whose keys begin so. */
  beginningWith(prefix: string): KeyRange {
    const key = this.of(prefix);
    const end = Buffer.from(key);
    // UTF-8 has no byte 255, so the last one can always be raised.
    end[end.length - 1]! += 1;
    return { key, range_end: end };
  }
}

/** The first key behind this one. */
export function after(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.from([0])]);
}
