import { NotHttpError } from './answer-head.js';

/** The length of a chunk with its extensions, or a trailer: nobody sends more than a few hundred characters. */
const MAX_LINE = 16 * 1024;

const SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;|$)/i;
const LINE_FEED = 0x0a;

/** A body in chunks, as it comes: in pieces that know nothing of the chunks. */
export class ChunkedBody {
  /** What the next line is. */
  private next: 'size' | 'end of chunk' | 'trailer' = 'size';
  private line = '';
  /** Of the chunk. */
  private left = 0;

  /** Passes on what is in these bytes from here on. Where the body ends in them, or -1. Throws a `NotHttpError`. */
  take(bytes: Buffer, from: number, pass: (piece: Buffer) => void): number {
    let at = from;
    while (at < bytes.length) {
      if (this.left > 0) at = this.takeData(bytes, at, pass);
      else {
        const end = bytes.indexOf(LINE_FEED, at);
        this.line += bytes.toString('latin1', at, end < 0 ? bytes.length : end + 1);
        if (this.line.length > MAX_LINE) throw new NotHttpError('a line of its body is too long');
        if (end < 0) return -1;
        at = end + 1;
        if (this.takeLine()) return at;
      }
    }
    return -1;
  }

  private takeData(bytes: Buffer, at: number, pass: (piece: Buffer) => void): number {
    const end = Math.min(bytes.length, at + this.left);
    this.left -= end - at;
    if (this.left === 0) this.next = 'end of chunk';
    pass(bytes.subarray(at, end));
    return end;
  }

  /** Whether it was the last. */
  private takeLine(): boolean {
    const text = this.line.slice(0, -2);
    if (!this.line.endsWith('\r\n')) throw new NotHttpError('a line of its body has no proper end');
    this.line = '';
    if (this.next === 'trailer') return text === '';
    if (this.next === 'end of chunk') {
      if (text !== '') throw new NotHttpError('a chunk of its body is longer than it says');
      this.next = 'size';
      return false;
    }
    const size = SIZE.exec(text)?.[1];
    if (size === undefined) throw new NotHttpError('a chunk of its body does not say how long it is');
    this.left = Number.parseInt(size, 16);
    if (this.left === 0) this.next = 'trailer';
    return false;
  }
}
