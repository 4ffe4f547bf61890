import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonWriter } from './json-writer.js';

type Value = string | number | boolean | null | Value[] | { [field: string]: Value };

function write(out: JsonWriter, value: Value): void {
  if (typeof value === 'string') out.string(value);
  else if (typeof value === 'number') out.number(value);
  else if (typeof value === 'boolean') out.bit(value);
  else if (value === null) out.null();
  else if (Array.isArray(value)) {
    out.openList();
    for (const entry of value) write(out, entry);
    out.closeList();
  } else {
    out.openObject();
    for (const [field, entry] of Object.entries(value)) {
      out.field(field);
      write(out, entry);
    }
    out.closeObject();
  }
}

const bits = (_: string, value: unknown) => (typeof value === 'boolean' ? Number(value) : value);

const numbers = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(200_000_000),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, 9, 10, 99_999_999, 100_000_000, 999_999_999_999, 2 ** 53 - 1, 2 ** 53, 1e21, -0.5),
);
/** With halves of surrogate pairs, which no encoder can write. */
const broken = fc
  .array(fc.constantFrom('a', '"', '\n', '\u0000', 'é', '汉', '😀', '\ud83d', '\ude00'))
  .map((parts) => parts.join(''));
const strings = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), broken);
const { value: values } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    strings,
    numbers,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));

describe('JsonWriter', () => {
  it('writes what JSON.stringify writes, again and again in the same memory', () => {
    const out = new JsonWriter();
    fc.assert(
      fc.property(values, (value) => {
        out.begin();
        write(out, value);
        const text = JSON.stringify(value, bits);
        expect(out.length).toBe(Buffer.byteLength(`${text},`));
        expect(out.end()).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('writes texts of any length', () => {
    const out = new JsonWriter();
    for (const value of [
      'x'.repeat(100_000),
      '€'.repeat(100_000),
      Array(20_000).fill(1_794_809_453_713_001),
    ]) {
      out.begin();
      write(out, value);
      expect(out.end()).toBe(JSON.stringify(value));
    }
  });

  it('begins anew after a text that was not ended', () => {
    const out = new JsonWriter();
    out.openList();
    out.string('ü');
    out.begin();
    write(out, ['a']);
    expect(out.end()).toBe('["a"]');
  });

  it('keeps a text apart that is written in the middle of another', () => {
    const out = new JsonWriter();
    out.openList();
    out.number(1);
    const aside = out.aside(() => write(out, ['ü', 2]));
    out.string('b');
    out.closeList();
    expect([aside, out.end()]).toEqual(['["ü",2]', '[1,"b"]']);
  });
});
