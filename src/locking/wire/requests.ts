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
export function ticketMoment(request: AskerDto & { readonly ticket?: string }): Moment | undefined {
  if (request.ticket === undefined || request.ticket === null) return undefined;
  const reading = readTicket(request.ticket, request.type, request.resource_id, request.node_id);
  if (reading.kind === 'invalid') throw badField('ticket', reading.error);
  return reading.kind === 'ticket' ? reading.moment : undefined;
}

export function acquireOf(request: LockRequestDto, sessionEnded: boolean): Acquire {
  return {
    kind: 'acquire',
    type: request.type,
    asker: askerOf(request),
    sessionEnded,
    subtype: request.subtype ?? undefined,
    leaseMs: request.lease_ms ?? undefined,
    ticket: ticketMoment(request),
    absent: request.absent ?? undefined,
  };
}

export function releaseOf(request: UnlockRequestDto, sessionEnded: boolean): Release {
  const error = request.error ?? '';
  const success = request.success ?? error === '';
  if (success && error !== '') throw badField('error', 'must be empty with success: true');
  if (success && request.fatal) throw badField('fatal', 'makes no sense with success: true');
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

export function badField(field: string, problem: string): BadRequestException {
  const message = `${field} ${problem}`;
  return new BadRequestException({ code: 'BAD_REQUEST', message, fields: { [field]: [message] } });
}
