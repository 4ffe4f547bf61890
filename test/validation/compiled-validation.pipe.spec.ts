import { type ArgumentMetadata, BadRequestException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { CompiledValidationPipe } from '../../src/common/validation/compiled-validation.pipe.js';
import { BatchDto, ItemDto, KindsDto, LockDto, QueryDto } from './dtos.js';

const pipe = new CompiledValidationPipe();
const LOCK = { type: 'pull', resource_id: 'r', node_id: 'n' };

const run = (
  input: unknown,
  metatype: ArgumentMetadata['metatype'],
  type: ArgumentMetadata['type'] = 'body',
) => pipe.transform(input, { type, metatype });

/** The body of the 400. */
function refusal(...args: Parameters<typeof run>) {
  try {
    run(...args);
  } catch (error) {
    if (error instanceof BadRequestException) return error.getResponse();
    throw error;
  }
  throw new Error('was accepted');
}

describe('a DTO from a body', () => {
  it('is an instance with the known fields and no others', () => {
    const dto = run({ ...LOCK, extra: 1, toString: 'x' }, LockDto);
    expect(dto).toBeInstanceOf(LockDto);
    expect(JSON.parse(JSON.stringify(dto))).toEqual(LOCK);
  });

  it('is not touched by keys that lead to prototypes', () => {
    const dto = run(
      JSON.parse('{"type":"pull","resource_id":"r","node_id":"n","__proto__":{"token":5}}'),
      LockDto,
    );
    expect(Object.getPrototypeOf(dto)).toBe(LockDto.prototype);
    expect(dto).toHaveProperty('token', undefined);
  });

  it('takes null for an optional field as absent', () => {
    expect(run({ ...LOCK, token: null, session_id: null }, LockDto)).toHaveProperty('token', undefined);
  });

  it('has nested DTOs that are instances, and strips their unknown fields', () => {
    const item = { type: 'pull', other: 1 };
    const dto = run({ type: 'a', requests: [item, item], one: item }, BatchDto) as BatchDto;
    expect(dto.requests[1]).toBeInstanceOf(ItemDto);
    expect(dto.one).toBeInstanceOf(ItemDto);
    expect(Object.keys(dto.one)).not.toContain('other');
  });

  it('leaves the input as it was', () => {
    const input = { type: 'a', requests: [{ type: 'b', x: 1 }], one: { type: 'c' } };
    const before = structuredClone(input);
    run(input, BatchDto);
    expect(input).toEqual(before);
  });
});

describe('a refusal', () => {
  it('names every wrong field, in words and by name', () => {
    expect(refusal({ type: '-', node_id: 7, token: 0, lease_ms: 'x' }, LockDto)).toEqual({
      code: 'BAD_REQUEST',
      message:
        'type must be 1 to 64 letters, digits, dots, underscores or dashes, the first a letter or digit; ' +
        'resource_id is required; ' +
        'node_id must be a string of 1 to 256 characters, none of them a control character; ' +
        'lease_ms must be a whole number from 0 to 31536000000; ' +
        'token must be a whole number from 1 to 9007199254740991',
      fields: {
        type: [
          'type must be 1 to 64 letters, digits, dots, underscores or dashes, the first a letter or digit',
        ],
        resource_id: ['resource_id is required'],
        node_id: ['node_id must be a string of 1 to 256 characters, none of them a control character'],
        lease_ms: ['lease_ms must be a whole number from 0 to 31536000000'],
        token: ['token must be a whole number from 1 to 9007199254740991'],
      },
    });
  });

  it("says what class-validator's and custom decorators say", () => {
    const input = { length: 'x', matches: 'b', in: 'z', array: [1], even: 3, int: 9, not_less: 1 };
    expect(refusal(input, KindsDto)).toMatchObject({
      fields: {
        length: ['length must be longer than or equal to 2 characters'],
        matches: ['matches must match /^a+$/ regular expression'],
        in: ['in must be one of the following values: a, 1, '],
        array: ['each value in array must be a string'],
        even: ['even must be even, not 3'],
        int: ['int must not be greater than 3'],
        not_less: ['not_less must not be less than int'],
        min_length: ['min_length is required'],
      },
    });
  });

  it('says where in a list of DTOs something is wrong', () => {
    const input = { type: 'a', requests: [{ type: 'b' }, { type: '', size: 'x' }, 5], one: null };
    expect(refusal(input, BatchDto)).toMatchObject({
      fields: {
        'requests.1.type': [expect.stringMatching(/^requests\.1\.type must be/)],
        'requests.1.size': ['requests.1.size must be an integer number'],
        'requests.2': ['each value in nested property requests.2 must be either object or array'],
        one: ['nested property one must be either object or array', 'one should not be null or undefined'],
      },
    });
  });

  it('refuses lists in lists, however deep', () => {
    const deep = JSON.parse(
      `{"type":"a","one":{"type":"b"},"requests":${'['.repeat(9999)}${']'.repeat(9999)}}`,
    );
    expect(refusal(deep, BatchDto)).toMatchObject({ fields: { 'requests.0': [expect.any(String)] } });
  });

  it('tells the first twenty in its message, and all in its fields', () => {
    const requests = Array.from({ length: 30 }, () => ({ type: '' }));
    const { message, fields } = refusal({ type: 'a', one: { type: 'a' }, requests }, BatchDto) as {
      message: string;
      fields: object;
    };
    expect(Object.keys(fields)).toHaveLength(31);
    expect(message.split('; ')).toHaveLength(21);
    expect(message).toMatch(/; and 11 more$/);
  });

  it.each([undefined, null, 7, 'text', [], [LOCK]])('is what %j gets instead of an object', (input) => {
    expect(refusal(input, LockDto)).toEqual({
      code: 'BAD_REQUEST',
      message: 'The request must be a JSON object',
      fields: {},
    });
  });
});

describe('a DTO from a query string', () => {
  it('has numbers and booleans where its validators want them', () => {
    const query = {
      resource_id: '42',
      limit: '-0010',
      share: '0.5',
      bind: 'false',
      token: '9007199254740991',
    };
    expect(refusal(query, QueryDto, 'query')).toMatchObject({
      fields: { limit: ['limit must not be less than 1'] },
    });
    expect(run({ ...query, limit: '10' }, QueryDto, 'query')).toEqual({
      resource_id: '42',
      limit: 10,
      share: 0.5,
      bind: false,
      token: Number.MAX_SAFE_INTEGER,
    });
  });

  it.each([
    ['limit', ''],
    ['limit', '1e3'],
    ['limit', '0x10'],
    ['limit', ' 1'],
    ['limit', '9007199254740993'],
    ['limit', '12345678901234567'],
    ['share', '.5'],
    ['share', 'NaN'],
    ['bind', '1'],
    ['bind', 'TRUE'],
    ['token', '1.0'],
  ])('does not guess at %s=%s', (property, text) => {
    expect(Object.keys(refusalFields({ resource_id: 'r', [property]: text }))).toEqual([property]);
  });

  it('refuses a key given twice, and does not mind unknown ones', () => {
    expect(refusalFields({ resource_id: ['a', 'b'], bind: ['true', 'true'], other: ['1', '2'] })).toEqual({
      resource_id: ['resource_id must be given once'],
      bind: ['bind must be given once'],
    });
  });

  it('comes from path parameters as well', () => {
    expect(run({ resource_id: 'r', limit: '3' }, QueryDto, 'param')).toMatchObject({ limit: 3 });
  });

  function refusalFields(query: object): object {
    return (refusal(query, QueryDto, 'query') as { fields: object }).fields;
  }
});

describe('what is no DTO', () => {
  it.each<[ArgumentMetadata, unknown]>([
    [{ type: 'query', metatype: String, data: 'x' }, 'text'],
    [{ type: 'param', metatype: Number, data: 'id' }, '7'],
    [{ type: 'body', metatype: LockDto, data: 'part' }, { any: 'thing' }],
    [{ type: 'custom', metatype: LockDto }, { any: 'thing' }],
  ])('passes as it is: %j', (metadata, value) => {
    expect(pipe.transform(value, metadata)).toBe(value);
  });

  it.each([Object, Array, String, undefined])('does not pass as a whole body of type %s', (metatype) => {
    expect(() => run({ a: 1 }, metatype)).toThrow('needs a DTO class');
  });
});
