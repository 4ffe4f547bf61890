import { describe, expect, it } from 'vitest';
import { type Reply } from './reply.js';
import { Retries } from './retries.js';

const reply = (status: number, retryAfterMs?: number): Reply => ({
  url: 'http://s/',
  sentAtMs: 0,
  ms: 1,
  status,
  body: undefined,
  retryAfterMs,
  cause: undefined,
});
const settings = { maxRetries: 3, retryIntervalMs: 1000 };

describe('retries', () => {
  it.each([0, 429, 500, 503])('follow %i', (status) => {
    expect(new Retries(settings, 1).delayAfter(reply(status), 0)).toBeGreaterThan(0);
  });

  it.each([200, 400, 403, 404, 409, 413])('never follow %i', (status) => {
    expect(new Retries(settings, 1).delayAfter(reply(status), 0)).toBeUndefined();
  });

  it('end after as many as were asked for', () => {
    const retries = new Retries(settings, 1);
    expect([0, 1, 2, 3].map((earlier) => retries.delayAfter(reply(503), earlier) !== undefined)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it('come later each time, with jitter, but not later than a minute', () => {
    const [least, most] = [new Retries(settings, 1, () => 0), new Retries(settings, 1, () => 1)];
    expect([0, 1, 2].map((earlier) => least.delayAfter(reply(0), earlier))).toEqual([500, 1000, 2000]);
    expect([0, 1, 2].map((earlier) => most.delayAfter(reply(0), earlier))).toEqual([1000, 2000, 4000]);
    expect(most.delayAfter(reply(503, 3_600_000), 0)).toBe(60_000);
  });

  it('wait for what Retry-After says', () => {
    expect(new Retries(settings, 1).delayAfter(reply(429, 7000), 0)).toBe(7000);
  });

  it.each([0, 503])(
    'go to the other servers at once when one answers %i, until all have been asked',
    (status) => {
      const retries = new Retries(settings, 3, () => 1);
      const delays = [0, 1, 2].map((earlier) => retries.delayAfter(reply(status, 7000), earlier));
      expect(delays).toEqual([0, 0, 7000]);
      expect(retries.delayAfter(reply(429), 0)).toBe(1000);
    },
  );
});
