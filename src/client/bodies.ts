import { type Key } from './key.js';
import { type LockRequest, type Outcome } from './requests.js';

/** What requests say, as JSON built once. `identity` is the part that names node and session, made by `identityOf`. */

/** The server cuts errors at 4 KB; a longer one would only make the request too long. */
const MAX_ERROR_LENGTH = 4096;

export function identityOf(nodeId: string, sessionId?: string): string {
  const session = sessionId === undefined ? '' : `,"session_id":${JSON.stringify(sessionId)}`;
  return `,"node_id":${JSON.stringify(nodeId)}${session}`;
}

export function keyBody(key: Key, identity: string, ticket?: string): string {
  return `${beginning(key, identity)}${ticketPart(ticket)}}`;
}

export function lockBody(request: LockRequest, identity: string, ticket?: string, waitMs?: number): string {
  const { subtype, leaseMs, absent } = request;
  let body = beginning(request, identity);
  if (subtype !== undefined) body += `,"subtype":${JSON.stringify(subtype)}`;
  if (leaseMs !== undefined && leaseMs !== Infinity) body += `,"lease_ms":${leaseMs}`;
  if (absent !== undefined) body += `,"absent":${JSON.stringify(absent)}`;
  if (waitMs !== undefined) body += `,"wait_ms":${waitMs}`;
  return `${body}${ticketPart(ticket)}}`;
}

export function unlockBody(key: Key, identity: string, outcome: Outcome, token?: number): string {
  let body = beginning(key, identity);
  if (token !== undefined) body += `,"token":${token}`;
  if (outcome.success) return `${body},"success":true}`;
  const error = outcome.error?.slice(0, MAX_ERROR_LENGTH) || 'unspecified';
  return `${body},"success":false,"error":${JSON.stringify(error)}${outcome.fatal ? ',"fatal":true' : ''}}`;
}

export function renewBody(key: Key, identity: string, token?: number, leaseMs?: number): string {
  const tokenPart = token === undefined ? '' : `,"token":${token}`;
  const leasePart = leaseMs === undefined || leaseMs === Infinity ? '' : `,"lease_ms":${leaseMs}`;
  return `${beginning(key, identity)}${tokenPart}${leasePart}}`;
}

function beginning({ type, resourceId }: Key, identity: string): string {
  return `{"type":${JSON.stringify(type)},"resource_id":${JSON.stringify(resourceId)}${identity}`;
}

function ticketPart(ticket: string | undefined): string {
  return ticket === undefined ? '' : `,"ticket":${JSON.stringify(ticket)}`;
}
