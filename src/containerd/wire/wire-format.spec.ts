import type { MethodDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as answers from './answers.js';
import * as requests from './requests.js';

/** Held against protobufjs, which has the messages from content.proto. */

const loaded = loadSync('src/containerd/proto/content.proto', {
  keepCase: true,
  longs: Number,
  enums: Number,
  defaults: true,
});
const methods = loaded['containerd.services.content.v1.Content'] as unknown as Record<
  string,
  MethodDefinition<object, object>
>;

const text = fc.string({ unit: 'grapheme' });
const int64 = fc.oneof(fc.maxSafeNat(), fc.maxSafeInteger(), fc.nat(300), fc.constant(0));
const labels = fc
  .dictionary(text, text)
  .filter((entries) => !('__proto__' in entries && Object.hasOwn(entries, '__proto__')));
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const timestamp = fc.record({ seconds: int64, nanos: fc.nat(999_999_999) });
const info = fc.record({ digest: text, size: int64, created_at: timestamp, updated_at: timestamp, labels });
const status = fc.record({
  started_at: timestamp,
  updated_at: timestamp,
  ref: text,
  offset: int64,
  total: int64,
  expected: text,
});

describe('requests', () => {
  it.each<[string, fc.Arbitrary<object>, (message: Buffer) => object]>([
    ['Info', fc.record({ digest: text }), requests.digestRequest],
    ['Delete', fc.record({ digest: text }), requests.digestRequest],
    ['Status', fc.record({ ref: text }), requests.refRequest],
    ['Abort', fc.record({ ref: text }), requests.refRequest],
    ['List', fc.record({ filters: fc.array(text) }), requests.filtersRequest],
    ['ListStatuses', fc.record({ filters: fc.array(text) }), requests.filtersRequest],
    ['Read', fc.record({ digest: text, offset: int64, size: int64 }), requests.readRequest],
    [
      'Write',
      fc.record({
        action: fc.nat(2),
        ref: text,
        total: int64,
        expected: text,
        offset: int64,
        data: bytes,
        labels,
      }),
      requests.writeRequest,
    ],
  ])('of %s are read as they were meant', (method, arbitrary, decode) => {
    const { requestSerialize } = methods[method]!;
    fc.assert(
      fc.property(arbitrary, (value) => {
        expect(decode(requestSerialize(value))).toEqual(value);
      }),
    );
  });

  it('of Update: what can be changed is read', () => {
    const { requestSerialize } = methods['Update']!;
    const update = fc.record({ info, update_mask: fc.record({ paths: fc.array(text) }) });
    fc.assert(
      fc.property(update, (value) => {
        const { digest, labels } = value.info;
        expect(requests.updateRequest(requestSerialize(value))).toEqual({
          ...value,
          info: { digest, labels },
        });
      }),
    );
    expect(requests.updateRequest(Buffer.alloc(0))).toEqual({ info: null, update_mask: null });
  });

  it('fields that are not known are skipped', () => {
    const unknown = Buffer.from([
      0x78, 0x96, 0x01, 0x7a, 0x02, 1, 2, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4,
    ]);
    const known = methods['Read']!.requestSerialize({ digest: 'd', offset: 5, size: 6 });
    const read = { digest: 'd', offset: 5, size: 6 };
    expect(requests.readRequest(Buffer.concat([unknown, known, unknown]))).toEqual(read);
  });

  it.each([
    ['a length beyond the end', [0x0a, 5, 1]],
    ['a number that breaks off', [0x10, 0x80]],
    ['a number without end', [0x10, ...Array.from({ length: 11 }, () => 0xff)]],
    ['a number where a string should be', [0x08, 1]],
    ['a group', [0x7b]],
    ['a negative length', [0x0a, ...Array.from({ length: 9 }, () => 0xff), 1]],
  ])('with %s are refused', (_, message) => {
    expect(() => requests.readRequest(Buffer.from(message))).toThrow('not a message of this method');
  });

  it('any bytes are read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (array) => {
        try {
          requests.writeRequest(Buffer.from(array));
        } catch (error) {
          expect(error).toHaveProperty('name', 'RpcError');
        }
      }),
    );
  });
});

describe('answers', () => {
  it.each<[string, fc.Arbitrary<object>, (answer: never) => answers.Parts]>([
    ['Info', fc.record({ info }), answers.infoAnswer],
    ['Update', fc.record({ info }), answers.infoAnswer],
    ['List', fc.record({ info: fc.array(info) }), answers.infosAnswer],
    ['Delete', fc.constant({}), answers.emptyAnswer],
    ['Status', fc.record({ status }), answers.statusAnswer],
    ['ListStatuses', fc.record({ statuses: fc.array(status) }), answers.statusesAnswer],
    ['Read', fc.record({ offset: int64, data: bytes }), answers.readAnswer],
    [
      'Write',
      fc.record({
        action: fc.nat(2),
        started_at: timestamp,
        updated_at: timestamp,
        offset: int64,
        total: int64,
        digest: text,
      }),
      answers.writeAnswer,
    ],
  ])('of %s say what was meant', (method, arbitrary, encode) => {
    const { responseDeserialize } = methods[method]!;
    fc.assert(
      fc.property(arbitrary, (value) => {
        expect(responseDeserialize(Buffer.concat(encode(value as never)))).toEqual(value);
      }),
    );
  });
});
