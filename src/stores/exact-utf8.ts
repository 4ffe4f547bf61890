/**
 * UTF-8 that loses nothing. JavaScript strings may hold half a surrogate pair; plain UTF-8 turns every such
 * half into the same replacement character, which would make two keys one. Here a lone half takes the three
 * bytes its number would have (WTF-8); every well-formed string is plain UTF-8 and takes the fast way.
 */
export function encodeExact(text: string): Buffer {
  return isWellFormed(text) ? Buffer.from(text, 'utf8') : Buffer.concat(pieces(text));
}

/** For libraries that encode strings themselves: the string, unless they would lose something of it. */
export function exactText(text: string): string | Buffer {
  return isWellFormed(text) ? text : Buffer.concat(pieces(text));
}

/** Writes the encoding of the text and returns the position behind it. The target must have room. */
export function writeExact(text: string, target: Buffer, start: number): number {
  if (isWellFormed(text)) return start + target.write(text, start, 'utf8');
  for (const piece of pieces(text)) {
    target.set(piece, start);
    start += piece.length;
  }
  return start;
}

export function decodeExact(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes(REPLACEMENT) ? decodeHalves(bytes, start, end) : text;
}

const REPLACEMENT = '\ufffd';
const LONE_HALF = /(\p{Surrogate})/u;

/** A lone half begins with this byte and goes on with one from `HALF_SECOND_BYTE`; nothing else in UTF-8 does. */
const HALF_FIRST_BYTE = 0xed;
const HALF_SECOND_BYTE = 0xa0;

function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

function pieces(text: string): Buffer[] {
  return text
    .split(LONE_HALF)
    .map((piece) => (LONE_HALF.test(piece) ? encodeHalf(piece) : Buffer.from(piece)));
}

function encodeHalf(half: string): Buffer {
  const unit = half.charCodeAt(0);
  return Buffer.from([HALF_FIRST_BYTE, 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)]);
}

function decodeHalves(bytes: Buffer, start: number, end: number): string {
  let text = '';
  let from = start;
  for (let at = start; at + 2 < end; at++) {
    if (bytes[at] !== HALF_FIRST_BYTE || bytes[at + 1]! < HALF_SECOND_BYTE) continue;
    const unit = 0xd000 | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f);
    text += bytes.toString('utf8', from, at) + String.fromCharCode(unit);
    from = at + 3;
    at += 2;
  }
  return text + bytes.toString('utf8', from, end);
}
