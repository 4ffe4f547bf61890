import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fnv1a } from './fnv1a.js';

/** The definition, byte by byte. */
function reference(text: string): number {
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(text, 'utf8')) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  return Number(hash);
}

describe('FNV-1a', () => {
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['b', 0xe70c2de5],
    ['foobar', 0xbf9cf968],
    ['hello', 0x4f9f2cab],
  ])('of %j is the published value', (text, hash) => {
    expect(fnv1a(text)).toBe(hash);
  });

  it.each(['é', '汉字', '😀', 'a\ud800b', '\udc00', '\u07ff\u0800\uffff\u{10000}'])(
    'of %j is that of its UTF-8 bytes',
    (text) => {
      expect(fnv1a(text)).toBe(reference(text));
    },
  );

  it('of any text is that of its UTF-8 bytes', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => fnv1a(text) === reference(text)));
  });
});
