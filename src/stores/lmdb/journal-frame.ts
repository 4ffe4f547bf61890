import { crc32 } from 'node:zlib';
import { decodeExact, writeExact } from '../exact-utf8.js';
import { type Cursor } from '../state-store.interface.js';
import { wholeBlocks } from './blocks.js';
import { type SavedChange } from './saved-change.js';

/** One group of commits, as the journal holds it. */
export interface Frame {
  /** Of the group's newest commit. */
  readonly revision: Cursor;
  /** The revision of the frame before it: a frame that is missing in between is noticed. */
  readonly previous: Cursor;
  readonly changes: readonly SavedChange[];
}

/**
 * Header: tag (4), nonce of the owner, revision, previous revision (8 each), bytes of the payload (4), checksum of all that is
 * before it and of the payload (4). Payload, for each change: bytes of the key and of the value (4 each), revision (8), key,
 * value. Little-endian; numbers of 8 bytes are doubles. Behind it zeros up to the end of a block.
 */
const TAG = 0x314a_4648;
const NONCE_AT = 4;
const REVISION_AT = 12;
const PREVIOUS_AT = 20;
const LENGTH_AT = 28;
const CHECKSUM_AT = 32;
const HEADER_BYTES = 36;
const CHANGE_BYTES = 16;

/** In the place of a value's length. */
const DELETED = 0xffff_ffff;

/** UTF-8 takes at most this many bytes for one unit of a string. */
const BYTES_PER_UNIT = 3;

/** More than nearly every frame takes, counted like this; what is not used of it takes no memory. A longer frame gets its own. */
const KEPT_BYTES = 4 * 1024 * 1024;

/** Makes frames, one at a time: the bytes of one may be those of the next. */
export class FrameEncoder {
  private readonly kept = Buffer.allocUnsafe(KEPT_BYTES);

  constructor(private readonly nonce: number) {}

  encode({ revision, previous, changes }: Frame): Buffer {
    const buffer = this.roomFor(changes);
    let at = HEADER_BYTES;
    for (const change of changes) at = writeChange(buffer, at, change);
    buffer.writeUInt32LE(TAG, 0);
    buffer.writeDoubleLE(this.nonce, NONCE_AT);
    buffer.writeDoubleLE(revision, REVISION_AT);
    buffer.writeDoubleLE(previous, PREVIOUS_AT);
    buffer.writeUInt32LE(at - HEADER_BYTES, LENGTH_AT);
    buffer.writeUInt32LE(checksum(buffer, 0, at), CHECKSUM_AT);
    const end = wholeBlocks(at);
    return buffer.fill(0, at, end).subarray(0, end);
  }

  private roomFor(changes: readonly SavedChange[]): Buffer {
    let bytes = HEADER_BYTES;
    for (const { key, value } of changes) {
      bytes += CHANGE_BYTES + BYTES_PER_UNIT * (key.length + (value?.length ?? 0));
    }
    return bytes > KEPT_BYTES ? Buffer.allocUnsafe(wholeBlocks(bytes)) : this.kept;
  }
}

/**
 * Every whole frame of this owner, wherever in the bytes it is: a file that is written over from its beginning holds new
 * frames, then the rest of an old one, then old ones. The nonce is nobody's to guess, so that no key or value can pass for a frame.
 */
export function findFrames(bytes: Buffer, nonce: number): Frame[] {
  const mark = Buffer.alloc(REVISION_AT);
  mark.writeUInt32LE(TAG, 0);
  mark.writeDoubleLE(nonce, NONCE_AT);
  const frames: Frame[] = [];
  for (let at = bytes.indexOf(mark); at >= 0;) {
    const end = endOfFrame(bytes, at);
    if (end !== undefined) frames.push(decode(bytes, at, end));
    at = bytes.indexOf(mark, end ?? at + 1);
  }
  return frames;
}

function endOfFrame(bytes: Buffer, start: number): number | undefined {
  if (start + HEADER_BYTES > bytes.length) return undefined;
  const end = start + HEADER_BYTES + bytes.readUInt32LE(start + LENGTH_AT);
  if (end > bytes.length) return undefined;
  return checksum(bytes, start, end) === bytes.readUInt32LE(start + CHECKSUM_AT) ? end : undefined;
}

function checksum(bytes: Buffer, start: number, end: number): number {
  const header = crc32(bytes.subarray(start, start + CHECKSUM_AT));
  return crc32(bytes.subarray(start + HEADER_BYTES, end), header);
}

function writeChange(target: Buffer, start: number, { key, revision, value }: SavedChange): number {
  const keyAt = start + CHANGE_BYTES;
  const valueAt = writeExact(key, target, keyAt);
  const end = value === undefined ? valueAt : writeExact(value, target, valueAt);
  target.writeUInt32LE(valueAt - keyAt, start);
  target.writeUInt32LE(value === undefined ? DELETED : end - valueAt, start + 4);
  target.writeDoubleLE(revision, start + 8);
  return end;
}

function decode(bytes: Buffer, start: number, end: number): Frame {
  const changes: SavedChange[] = [];
  for (let at = start + HEADER_BYTES; at < end;) {
    const keyAt = at + CHANGE_BYTES;
    const valueAt = keyAt + bytes.readUInt32LE(at);
    const length = bytes.readUInt32LE(at + 4);
    const next = length === DELETED ? valueAt : valueAt + length;
    changes.push({
      key: decodeExact(bytes, keyAt, valueAt),
      revision: bytes.readDoubleLE(at + 8),
      value: length === DELETED ? undefined : decodeExact(bytes, valueAt, next),
    });
    at = next;
  }
  return {
    revision: bytes.readDoubleLE(start + REVISION_AT),
    previous: bytes.readDoubleLE(start + PREVIOUS_AT),
    changes,
  };
}
