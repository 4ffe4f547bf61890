import { codeAt } from './text.js';

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** FNV-1a, 32 bits, of the text's UTF-8 bytes (a lone surrogate counts as U+FFFD, as encoders write it). */
export function fnv1a(text: string): number {
  const { length } = text;
  let hash = OFFSET_BASIS;
  const mix = (byte: number) => {
    hash = Math.imul(hash ^ byte, PRIME);
  };
  for (let i = 0; i < length; i++) {
    const unit = codeAt(text, i);
    if (unit < 0x80) {
      hash = Math.imul(hash ^ unit, PRIME);
      continue;
    }
    const code = codePoint(text, i);
    if (code > 0xffff) i++;
    encodeUtf8(code, mix);
  }
  return hash >>> 0;
}

function codePoint(text: string, index: number): number {
  const code = text.codePointAt(index)!;
  return code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
}

function encodeUtf8(code: number, mix: (byte: number) => void): void {
  if (code < 0x800) mix(0xc0 | (code >> 6));
  else {
    if (code < 0x10000) mix(0xe0 | (code >> 12));
    else {
      mix(0xf0 | (code >> 18));
      mix(0x80 | ((code >> 12) & 0x3f));
    }
    mix(0x80 | ((code >> 6) & 0x3f));
  }
  mix(0x80 | (code & 0x3f));
}
