import { BadRequestError } from './errors.js';
import { HeldLock } from './hold.js';
import { type Key } from './key.js';
import { type LockOptions, type LockRequest, type Outcome } from './requests.js';

/**
 * What a caller without types can get wrong, said before anything is sent: what is not JSON would spoil the batch that
 * it travels in.
 */

export function checkKey(key: Key): void {
  check(isObject(key), 'A key is an object with type and resourceId.');
  check(typeof key.type === 'string', 'type must be text.');
  checkResource(key.resourceId);
}

export function checkResource(resourceId: string): void {
  check(typeof resourceId === 'string', 'resourceId must be text.');
}

/** A lease that a hold is given by the way would end it although its session is alive. */
export function checkRenewal(hold: unknown, leaseMs?: number): void {
  if (!(hold instanceof HeldLock)) return check(false, 'Only a hold that a client gave can be renewed.');
  checkDuration('leaseMs', leaseMs);
  const isInOrder = leaseMs === undefined || hold.hasLease;
  check(
    isInOrder,
    'leaseMs is only for a hold that was asked for with leaseMs; the session renews this one.',
  );
}

export function checkRequest(request: LockRequest): void {
  checkKey(request);
  const { subtype, leaseMs, absent, ticket } = request;
  check(isOptional('string', subtype), 'subtype must be text.');
  check(isOptional('boolean', absent), 'absent must be true or false.');
  checkTicket(ticket);
  checkDuration('leaseMs', leaseMs);
}

export function checkWork(work: unknown): void {
  check(typeof work === 'function', 'The work must be a function.');
}

export function checkTicket(ticket: string | undefined): void {
  check(isOptional('string', ticket), 'ticket must be text.');
}

export function checkOptions(options: LockOptions): void {
  check(isObject(options), 'The options must be an object.');
  const { signal, waitMs } = options;
  check(signal === undefined || signal instanceof AbortSignal, 'signal must be an AbortSignal.');
  checkDuration('waitMs', waitMs);
}

/** `Infinity`: no limit. */
export function checkDuration(name: string, ms: number | undefined): void {
  check(ms === undefined || (typeof ms === 'number' && ms >= 0), `${name} must be a number of at least 0.`);
}

export function checkOutcome(outcome: Outcome): void {
  check(isObject(outcome) && typeof outcome.success === 'boolean', 'The outcome must have success.');
  if (outcome.success) return;
  check(isOptional('string', outcome.error), 'error must be text.');
  check(isOptional('boolean', outcome.fatal), 'fatal must be true or false.');
}

function check(isInOrder: boolean, complaint: string): void {
  if (!isInOrder) throw new BadRequestError('BAD_REQUEST', complaint);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isOptional(type: 'string' | 'boolean', value: unknown): boolean {
  // oxlint-disable-next-line valid-typeof -- one of the two
  return value === undefined || typeof value === type;
}
