import { ConnectionError, FLAG, H2_ERROR, protocolError } from './protocol.js';

/** What stands between the length of the padding, the priority, and the padding. */
export function unpadded(flags: number, payload: Buffer): Buffer {
  const isPadded = (flags & FLAG.padded) !== 0;
  const start = (isPadded ? 1 : 0) + (flags & FLAG.priority ? PRIORITY_BYTES : 0);
  if (start === 0) return payload;
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  if (end < start) throw protocolError('There is more padding than payload.');
  return payload.subarray(start, end);
}

const PRIORITY_BYTES = 5;

export function settingsPayload(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([id, value], n) => {
    payload.writeUInt16BE(id, n * 6);
    payload.writeUInt32BE(value, n * 6 + 2);
  });
  return payload;
}

export function assertLength(payload: Buffer, length: number, what: string): void {
  if (payload.length === length) return;
  throw new ConnectionError(H2_ERROR.frameSize, `${what} has ${payload.length} bytes instead of ${length}.`);
}

export function windowIncrement(payload: Buffer): number {
  return payload.readUInt32BE() & 0x7fffffff;
}
