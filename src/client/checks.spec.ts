import { describe, expect, it } from 'vitest';
import { checkKey, checkOptions, checkOutcome, checkRenewal, checkRequest, checkWork } from './checks.js';
import { BadRequestError } from './errors.js';

const KEY = { type: 'update', resourceId: 'layer' };

describe('what callers ask', () => {
  it.each<[string, (value: never) => void, unknown]>([
    ['no key', checkKey, undefined],
    ['null for a key', checkKey, null],
    ['a type that is missing', checkKey, { resourceId: 'layer' }],
    ['a resource that is missing', checkKey, { type: 'update', resourceId: undefined }],
    ['a lane that is no text', checkRequest, { ...KEY, subtype: 7 }],
    ['a ticket that is no text', checkRequest, { ...KEY, ticket: 7 }],
    ['absent that is no yes or no', checkRequest, { ...KEY, absent: 'yes' }],
    ['a lease that is a BigInt', checkRequest, { ...KEY, leaseMs: 10n }],
    ['a lease that is no number', checkRequest, { ...KEY, leaseMs: NaN }],
    ['a lease below zero', checkRequest, { ...KEY, leaseMs: -1 }],
    ['null for options', checkOptions, null],
    ['a wait that is no number', checkOptions, { waitMs: NaN }],
    ['a wait that is text', checkOptions, { waitMs: '100' }],
    ['a wait below zero', checkOptions, { waitMs: -5 }],
    ['a signal that is none', checkOptions, { signal: {} }],
    ['work that is no function', checkWork, Promise.resolve()],
    ['a hold that no client gave', (hold) => checkRenewal(hold), { ...KEY, token: 1 }],
    ['no outcome', checkOutcome, undefined],
    ['an outcome that does not say', checkOutcome, {}],
    ['an error that is no text', checkOutcome, { success: false, error: { a: 1 } }],
    ['fatal that is no yes or no', checkOutcome, { success: false, fatal: 1 }],
  ])('%s is not in order', (_name, check, value) => {
    expect(() => check(value as never)).toThrow(BadRequestError);
  });

  it.each<[string, (value: never) => void, unknown]>([
    ['a key', checkRequest, KEY],
    ['a full request', checkRequest, { ...KEY, subtype: 'a', leaseMs: 5, absent: true, ticket: 't' }],
    ['a lease without end', checkRequest, { ...KEY, leaseMs: Infinity }],
    ['no wait', checkOptions, { waitMs: 0 }],
    ['a wait without end', checkOptions, { waitMs: Infinity, signal: new AbortController().signal }],
    ['a success', checkOutcome, { success: true }],
    ['a failure', checkOutcome, { success: false, error: 'disk full', fatal: true }],
  ])('%s is', (_name, check, value) => {
    expect(() => check(value as never)).not.toThrow();
  });
});
