import { plainToInstance } from 'class-transformer';
import { IsInt, IsString, Matches, Max, Min, validateSync } from 'class-validator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkInput } from '../../src/common/validation/check-input.js';
import { IsLeaseMs, IsOperationType } from '../../src/common/validation/decorators.js';
import { MAX_LEASE_MS, TYPE_PATTERN } from '../../src/core/limits.js';
import { LockDto } from './dtos.js';

const VALID = { type: 'pull', resource_id: 'sha256:ab', node_id: 'n' };

const name = '😀'; // two UTF-16 units

const GOOD: [keyof LockDto, unknown][] = [
  ['type', 'a'],
  ['type', '9._-'],
  ['type', 'x'.repeat(64)],
  ['resource_id', 'x'.repeat(512)],
  ['resource_id', name.repeat(256)],
  ['resource_id', ' any text, /:?#ü汉\u00a0\u2028'],
  ['node_id', 'x'.repeat(256)],
  ['session_id', 'x'.repeat(64)],
  ['session_id', null],
  ['subtype', 'gpu'],
  ['lease_ms', 0],
  ['lease_ms', MAX_LEASE_MS],
  ['token', 1],
  ['token', Number.MAX_SAFE_INTEGER],
  ['token', undefined],
];

const BAD: [keyof LockDto, unknown][] = [
  ['type', ''],
  ['type', '-a'],
  ['type', 'x'.repeat(65)],
  ['type', 'pull\n'],
  ['type', ['pull']],
  ['resource_id', ''],
  ['resource_id', 'x'.repeat(513)],
  ['resource_id', `${name.repeat(256)}x`],
  ['resource_id', `a${'\ufe0f'.repeat(600)}`],
  ['resource_id', 'a\u0000'],
  ['resource_id', 'a\u001fb'],
  ['resource_id', '\u007f'],
  ['resource_id', 'a\u009f'],
  ['resource_id', '\ud83d'],
  ['resource_id', '\ude00\ud83d'],
  ['resource_id', 7],
  ['resource_id', null],
  ['node_id', 'x'.repeat(257)],
  ['node_id', { toString: 'n' }],
  ['session_id', 'x'.repeat(65)],
  ['session_id', ''],
  ['subtype', 'a b'],
  ['lease_ms', -1],
  ['lease_ms', 1.5],
  ['lease_ms', '1'],
  ['lease_ms', MAX_LEASE_MS + 1],
  ['token', 0],
  ['token', 2 ** 53],
  ['token', true],
];

describe('our decorators', () => {
  it.each(GOOD)('take %s = %j, compiled or not', (property, value) => {
    const input = { ...VALID, [property]: value };
    expect(validateSync(plainToInstance(LockDto, input))).toEqual([]);
    expect(checkInput(LockDto, input)).toMatchObject({ ok: true });
  });

  it.each(BAD)('refuse %s = %j, compiled or not', (property, value) => {
    const input = { ...VALID, [property]: value };
    expect(validateSync(plainToInstance(LockDto, input)).map((error) => error.property)).toEqual([property]);
    expect(checkInput(LockDto, input)).toMatchObject({
      ok: false,
      error: { fields: { [property]: [expect.any(String)] } },
    });
  });
});

class Ours {
  @IsOperationType() word!: unknown;
  @IsLeaseMs() whole!: unknown;
}

class Theirs {
  @IsString() @Matches(TYPE_PATTERN) word!: unknown;
  @IsInt() @Min(0) @Max(MAX_LEASE_MS) whole!: unknown;
}

it('decorators of ours for words and whole numbers judge as class-validator’s own would', () => {
  const words = fc.oneof(fc.stringMatching(/^[A-Za-z0-9._-]{0,66}$/), fc.string({ unit: 'binary' }));
  const numbers = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.constantFrom(-1, -0, MAX_LEASE_MS, MAX_LEASE_MS + 1),
  );
  const values = fc.oneof(words, numbers, fc.anything());
  const wrong = (dto: object) => validateSync(dto).map(({ property }) => property);
  fc.assert(
    fc.property(values, values, (word, whole) => {
      const input = { word, whole };
      expect(wrong(Object.assign(new Ours(), input))).toEqual(wrong(Object.assign(new Theirs(), input)));
    }),
    { numRuns: 2000 },
  );
});
