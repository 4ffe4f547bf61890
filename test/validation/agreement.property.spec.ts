import { plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkInput } from '../../src/common/validation/check-input.js';
import { type Class } from '../../src/common/validation/class.js';
import { BatchDto, KindsDto, LockDto } from './dtos.js';

/**
 * The compiled verdict beside class-validator's own, on ten thousand inputs for each class: valid ones, valid ones with
 * a few fields changed, and anything that JSON can hold. Left out, because they differ on purpose: lists in lists of
 * DTOs (we refuse), a key `constructor` (class-transformer crashes) and `__proto__` (it drops the key; so do we).
 */
const RUNS = 10_000;

const oddText = fc.constantFrom(
  '',
  'a',
  'aa',
  'pull',
  '-x',
  '\u0000',
  '\ud800',
  '😀',
  '\ufe0f',
  'stay',
  'x'.repeat(600),
);
const oddNumber = fc.constantFrom(0, -0, 1, -1, 2, 3, 4, 1.5, 2 ** 53, -(2 ** 53), 1e300, 31_536_000_001);
const scalar = fc.oneof(
  oddText,
  oddNumber,
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: 'binary' }),
  fc.double(),
);
const notReserved = fc.string().filter((key) => key !== 'constructor' && key !== '__proto__');
const wild = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(notReserved, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));

type Shape = Record<string, fc.Arbitrary<unknown>>;

const word = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
const name = fc.string({ minLength: 1, maxLength: 64 }).filter((text) => /^\P{Cc}*$/u.test(text));
const item: Shape = { type: word, size: fc.option(fc.integer()) };
const object = (shape: Shape, requiredKeys: string[]) =>
  fc.record(shape, { requiredKeys, noNullPrototype: true });

const LOCK: Shape = {
  type: word,
  resource_id: name,
  node_id: name,
  session_id: fc.option(name),
  subtype: fc.option(word),
  lease_ms: fc.option(fc.nat()),
  token: fc.option(fc.maxSafeNat().filter((token) => token > 0)),
  absent: fc.option(fc.boolean()),
  on_timeout: fc.option(fc.constantFrom('stay', 'leave')),
};

const KINDS: Shape = {
  length: fc.constantFrom('ab', 'abcd'),
  min_length: fc.constantFrom('ab', 'x'.repeat(99)),
  max_length: fc.option(fc.constantFrom('', 'abc')),
  matches: fc.constantFrom('a', 'aaa'),
  int: fc.integer({ min: -2, max: 3 }),
  number: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  boolean: fc.boolean(),
  defined: fc.constantFrom(0, '', false, 'x'),
  in: fc.constantFrom('a', 1, null),
  array: fc.array(fc.string(), { minLength: 1, maxLength: 3 }),
  allowed: scalar,
  even: fc.option(fc.integer().map((half) => half * 2)),
  not_less: fc.option(fc.integer({ min: 3 })),
};

const BATCH: Shape = {
  ...item,
  requests: fc.array(nearly(item), { minLength: 1, maxLength: 3 }),
  one: nearly(item),
  maybe: fc.option(nearly(item)),
};

/** Valid by this shape, but for a few fields: left out, wild, or unknown. */
function nearly(shape: Shape): fc.Arbitrary<object> {
  const changed = Object.fromEntries(Object.keys(shape).map((key) => [key, fc.oneof(scalar, wild.value)]));
  return fc
    .tuple(
      object(shape, Object.keys(shape)),
      fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, object({ ...changed, extra: wild.value }, [])),
      fc.oneof({ weight: 3, arbitrary: fc.constant<string[]>([]) }, fc.subarray(Object.keys(shape))),
    )
    .map(([valid, wrong, missing]) => {
      const kept = Object.entries({ ...valid, ...wrong }).filter(([key]) => !missing.includes(key));
      return Object.fromEntries(kept);
    });
}

/** Paths of wrong fields, from class-validator's tree of errors. */
function wrongPaths(errors: readonly ValidationError[], parent = ''): string[] {
  return errors.flatMap(({ property, constraints, children = [] }) => [
    ...(constraints ? [parent + property] : []),
    ...wrongPaths(children, `${parent}${property}.`),
  ]);
}

const NESTED = ['requests', 'one', 'maybe'] as const;

/** Whether the input is without lists in lists of DTOs. */
function isComparable(input: Partial<Record<(typeof NESTED)[number], unknown>>): boolean {
  return NESTED.every((key) => {
    const value: unknown = input[key];
    return !Array.isArray(value) || !value.some((entry) => Array.isArray(entry));
  });
}

/** JSON, as it would come: no NaN, no Infinity, no -0. */
const asJson = (input: object): object => JSON.parse(JSON.stringify(input)) as object;

describe.each<[string, Class, Shape]>([
  ['LockDto', LockDto, LOCK],
  ['KindsDto', KindsDto, KINDS],
  ['BatchDto', BatchDto, BATCH],
])('the compiled validator of %s', (_, dto, shape) => {
  it('agrees with class-validator on every input, valid, nearly valid or wild', () => {
    let accepted = 0;
    const inputs = fc.oneof({ weight: 5, arbitrary: nearly(shape) }, wild.object as fc.Arbitrary<object>);
    fc.assert(
      fc.property(inputs.map(asJson).filter(isComparable), (input) => {
        const expected = wrongPaths(validateSync(plainToInstance(dto, input)));
        const checked = checkInput(dto, input);
        const found = checked.ok ? [] : Object.keys(checked.error.fields);
        if (checked.ok) accepted++;
        expect(found.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: RUNS },
    );
    expect(accepted).toBeGreaterThan(RUNS / 20);
    expect(accepted).toBeLessThan(RUNS / 1.2);
  });

  it('keeps the values that class-validator keeps', () => {
    fc.assert(
      fc.property(nearly(shape).map(asJson).filter(isComparable), (input) => {
        const checked = checkInput(dto, input);
        if (!checked.ok) return;
        const instance = plainToInstance(dto, input);
        validateSync(instance, { whitelist: true });
        expect(withoutNulls(checked.value)).toEqual(withoutNulls(instance));
      }),
    );
  });
});

/** Our absent is their `null`. */
function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, field: unknown) => field ?? undefined));
}
