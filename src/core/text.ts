/**
 * `text.charCodeAt(index)`, for loops. Texts differ in how V8 keeps them (joined, cut, interned, of two bytes, …), and where it has met more
 * than four ways it looks the method up anew for every character, which takes five times as long as all the rest. Here nothing is looked up.
 */
export const codeAt = Function.prototype.call.bind(String.prototype.charCodeAt) as (
  text: string,
  index: number,
) => number;

/** \b \t \n \f \r: the control characters that JSON writes with one letter. */
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);

/** Bytes of a string as JSON text in UTF-8, without its quotes. */
export function jsonBytes(text: string): number {
  const { length } = text;
  let bytes = 0;
  for (let i = 0; i < length; i++) {
    const code = codeAt(text, i);
    if (code < 0x20) bytes += SHORT_ESCAPES.has(code) ? 2 : 6;
    else if (code === 0x22 || code === 0x5c) bytes += 2;
    else if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (isHigh(code) && isLow(codeAt(text, i + 1))) {
      bytes += 4;
      i++;
    } else bytes += isHigh(code) || isLow(code) ? 6 : 3;
  }
  return bytes;
}

/** The longest beginning of the text that takes at most `maxBytes` as JSON; never half of a character. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (text.length * 6 <= maxBytes || jsonBytes(text) <= maxBytes) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += jsonBytes(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
