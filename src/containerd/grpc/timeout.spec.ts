import { expect, it } from 'vitest';
import { timeoutMs } from './timeout.js';

it.each([
  ['2H', 7_200_000],
  ['3M', 180_000],
  ['20S', 20_000],
  ['99999999m', 99_999_999],
  ['1500u', 1.5],
  ['500000n', 0.5],
])('%s is %d ms', (text, ms) => expect(timeoutMs(text)).toBeCloseTo(ms));

it.each(['', '5', 'S', '-1S', '123456789S', '1s', '1.5S'])('%j is none', (text) => {
  expect(() => timeoutMs(text)).toThrow('no grpc-timeout');
});
