import { expect, it } from 'vitest';
import { type Reply } from './reply.js';
import { Tries } from './tries.js';

function reply(status: number, ms = 1): Reply {
  return { url: 'http://a', sentAtMs: 0, ms, status, body: {}, retryAfterMs: undefined, cause: undefined };
}

it('what was tried is kept in order, of very many the latest', () => {
  const tries = new Tries();
  for (let ms = 1; ms <= 1001; ms++) tries.note(reply(200, ms));
  expect(tries.attempts).toHaveLength(1000);
  expect(tries.attempts[0]).toEqual({ url: 'http://a', ms: 2, status: 200 });
  expect(tries.attempts.at(-1)).toEqual({ url: 'http://a', ms: 1001, status: 200 });
});

it('the trouble is that of the last try', () => {
  const tries = new Tries();
  expect(tries.trouble).toBeUndefined();
  tries.note(reply(503));
  expect(tries.trouble).toMatchObject({ status: 503 });
  tries.note(reply(200));
  expect(tries.trouble).toBeUndefined();
});
