import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutToBytes, jsonBytes } from './text.js';

const encoded = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2;
const anyText = fc.string({ unit: 'binary' });

/** With halves of surrogate pairs, which no encoder can write. */
const brokenText = fc
  .array(fc.constantFrom('a', '"', '\n', '\u0000', 'é', '汉', '😀', '\ud83d', '\ude00'))
  .map((parts) => parts.join(''));

describe('the size of a text as JSON', () => {
  it.each([
    '',
    'plain',
    'quote " and \\',
    'line\nend\t',
    '\u0000\u001f\u007f',
    'é ß',
    '汉字',
    '😀',
    '\ud800',
    '\udc00x',
  ])('is right for %j', (text) => {
    expect(jsonBytes(text)).toBe(encoded(text));
  });

  it('is right for any text', () => {
    fc.assert(fc.property(fc.oneof(anyText, brokenText), (text) => jsonBytes(text) === encoded(text)));
  });
});

describe('a text cut to a size', () => {
  it('is left alone when it fits', () => {
    expect(cutToBytes('short', 100)).toBe('short');
    expect(cutToBytes('exact', 5)).toBe('exact');
  });

  it('is cut where it stops fitting', () => {
    expect(cutToBytes('abcdef', 4)).toBe('abcd');
    expect(cutToBytes('ab"cd', 3)).toBe('ab');
  });

  it('never ends in half of a character', () => {
    expect(cutToBytes('ab😀', 5)).toBe('ab');
    expect(cutToBytes('汉字', 5)).toBe('汉');
  });

  it('is the longest beginning that fits', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, brokenText), fc.nat(60), (text, max) => {
        const cut = cutToBytes(text, max);
        const next = [...text.slice(cut.length)][0];
        return (
          text.startsWith(cut) && encoded(cut) <= max && (next === undefined || encoded(cut + next) > max)
        );
      }),
    );
  });
});
