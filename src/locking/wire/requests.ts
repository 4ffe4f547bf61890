import { BadRequestException } from '@nestjs/common';
import { type Asker } from '../../core/chunked-list.js';
import { type Acquire, type Release, type Renew } from '../../core/commands.js';
import { MAX_ERROR_BYTES } from '../../core/limits.js';
import { type Moment } from '../../core/moment.js';
import { cutToBytes } from '../../core/text.js';
import { readTicket } from '../../core/ticket.js';
import { type AskerDto } from '../dto/key.dto.js';
import { type LockRequestDto } from '../dto/lock-request.dto.js';
import { type RenewRequestDto, type UnlockRequestDto } from '../dto/unlock-request.dto.js';

/** What requests mean, once their fields are each in order. */

export function askerOf({ node_id, session_id }: Pick<AskerDto, 'node_id' | 'session_id'>): Asker {
  return { nodeId: node_id, sessionId: session_id ?? undefined };
}

/** Another key's ticket is bad input; another node's is ignored. */
export function ticketMoment(request: Ticketed, others?: FieldProblems): Moment | undefined {
  const { ticket, type, resource_id, node_id } = request;
  const given = ticket !== undefined && ticket !== null;
  if (!given && !others) return undefined;
  const reading = given ? readTicket(ticket, type, resource_id, node_id) : undefined;
  assertFields({ ...others, ticket: reading?.kind === 'invalid' ? reading.error : undefined });
  return reading?.kind === 'ticket' ? reading.moment : undefined;
}

type Ticketed = AskerDto & { readonly ticket?: string };

/** `others`: what else is wrong with it, to be named together with what is found here. */
export function acquireOf(
  request: LockRequestDto,
  sessionEnded: boolean,
  at: string | undefined,
  others?: FieldProblems,
): Acquire {
  return {
    kind: 'acquire',
    type: request.type,
    asker: askerOf(request),
    sessionEnded,
    subtype: request.subtype ?? undefined,
    leaseMs: request.lease_ms ?? undefined,
    ticket: ticketMoment(request, others),
    absent: request.absent ?? undefined,
    at,
  };
}

export function releaseOf(request: UnlockRequestDto, sessionEnded: boolean): Release {
  const error = request.error ?? '';
  const success = request.success ?? error === '';
  if (success && (error !== '' || request.fatal)) {
    assertFields({
      error: error !== '' ? 'must be empty with success: true' : undefined,
      fatal: request.fatal ? 'makes no sense with success: true' : undefined,
    });
  }
  return {
    kind: 'release',
    type: request.type,
    asker: askerOf(request),
    sessionEnded,
    token: request.token ?? undefined,
    success,
    error: success ? '' : cutToBytes(error === '' ? 'unspecified' : error, MAX_ERROR_BYTES),
    fatal: request.fatal ?? false,
  };
}

export function renewOf(request: RenewRequestDto, sessionEnded: boolean): Renew {
  return {
    kind: 'renew',
    type: request.type,
    asker: askerOf(request),
    sessionEnded,
    token: request.token ?? undefined,
    leaseMs: request.lease_ms ?? undefined,
  };
}

/** What is wrong with each field, if anything. */
export type FieldProblems = Readonly<Record<string, string | undefined>>;

/** Throws a 400 that names every field with a problem. */
export function assertFields(problems: FieldProblems): void {
  const found = Object.entries(problems).filter(([, problem]) => problem !== undefined);
  if (found.length === 0) return;
  const messages = found.map(([field, problem]) => [field, `${field} ${problem}`] as const);
  throw new BadRequestException({
    code: 'BAD_REQUEST',
    message: messages.map(([, message]) => message).join('; '),
    fields: Object.fromEntries(messages.map(([field, message]) => [field, [message]])),
  });
}
