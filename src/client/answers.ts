import { type ErrorDetails, ProtocolError } from './errors.js';
import { attemptsOf, errorOf, isRecord, type Json, type Reply } from './reply.js';
import { type LockStatus, type References, type UnlockResult } from './requests.js';

/** What answers say, each checked: the other end may be anything. */

export type LockAnswer =
  | ({ readonly kind: 'acquired'; readonly token: number; readonly leaseMs: number } & Told)
  | { readonly kind: 'skipped'; readonly message: string }
  | QueuedAnswer
  /** A long poll whose wait is gone. */
  | { readonly kind: 'gone'; readonly message: string };

export type QueuedAnswer = {
  readonly kind: 'queued';
  readonly position: number;
  readonly ticket: string;
} & Told;

interface Told {
  readonly message: string;
  readonly isolation: string;
  readonly referenceCount: number | null;
}

type Request = ErrorDetails['request'];

export function readLock(reply: Reply, request: Request): LockAnswer {
  const body = successBody(reply, request);
  const { acquired, skip, token, lease_ms: leaseMs = 0, position, ticket } = body;
  const message = textOr('', body['message']);
  if (acquired === true && isToken(token) && isDuration(leaseMs))
    return { kind: 'acquired', token, leaseMs, message, ...circumstances(body) };
  if (acquired === false && skip === true) return { kind: 'skipped', message };
  if (acquired === false && skip === false) {
    if (position === undefined && ticket === undefined) return { kind: 'gone', message };
    if (typeof position === 'number' && typeof ticket === 'string')
      return { kind: 'queued', position, ticket, message, ...circumstances(body) };
  }
  throw malformed(reply, request);
}

export function readUnlock(reply: Reply, request: Request): UnlockResult {
  const body = successBody(reply, request);
  const { next_holder: nextHolder } = body;
  if (body['released'] !== true) throw malformed(reply, request);
  return {
    message: textOr('', body['message']),
    ...(typeof nextHolder === 'string' && { nextHolder }),
  };
}

export function readRenewal(reply: Reply, request: Request): { token: number; leaseMs: number } {
  const { renewed, token, lease_ms: leaseMs } = successBody(reply, request);
  if (renewed !== true || !isToken(token) || !isDuration(leaseMs)) throw malformed(reply, request);
  return { token, leaseMs };
}

export interface OpenedSession {
  readonly sessionId: string;
  readonly ttlMs: number;
  readonly parallelBatches: number;
}

/** An older server says nothing of batches. */
export function readSession(reply: Reply, request: Request): OpenedSession {
  const { session_id: sessionId, ttl_ms: ttlMs, parallel_batches: batches } = successBody(reply, request);
  if (typeof sessionId !== 'string' || sessionId === '' || !isDuration(ttlMs) || ttlMs === 0)
    throw malformed(reply, request);
  return { sessionId, ttlMs, parallelBatches: isCount(batches) ? batches : 1 };
}

export function readStatus(reply: Reply, request: Request): LockStatus {
  const body = successBody(reply, request);
  const { acquired, completed, success, held, queue_length: queueLength, position } = body;
  const { error, completed_at: completedAt, reference_count: references = null } = body;
  const flags = [acquired, completed, success, held].every((flag) => typeof flag === 'boolean');
  const counts = typeof queueLength === 'number' && (references === null || typeof references === 'number');
  if (!flags || !counts) throw malformed(reply, request);
  const holder = readHolder(body['holder']);
  return {
    acquired: acquired === true,
    completed: completed === true,
    success: success === true,
    held: held === true,
    queueLength,
    referenceCount: references,
    ...(typeof error === 'string' && { error }),
    ...(typeof completedAt === 'string' && { completedAt }),
    ...(typeof position === 'number' && { position }),
    ...(holder && { holder }),
  };
}

function readHolder(holder: unknown): LockStatus['holder'] {
  if (!isRecord(holder) || !isToken(holder['token'])) return undefined;
  const { subtype, token } = holder;
  return {
    nodeId: textOr('', holder['node_id']),
    requestedAt: textOr('', holder['requested_at']),
    acquiredAt: textOr('', holder['acquired_at']),
    token,
    ...(typeof subtype === 'string' && { subtype }),
  };
}

export function readReferences(reply: Reply, request: Request): References {
  const { count, nodes } = successBody(reply, request);
  if (typeof count !== 'number' || !Array.isArray(nodes)) throw malformed(reply, request);
  return {
    count,
    nodes: nodes.map((node: unknown) => {
      if (!isRecord(node) || typeof node['node_id'] !== 'string') throw malformed(reply, request);
      const { node_id: nodeId, since } = node;
      return { nodeId, ...(typeof since === 'string' && { since }) };
    }),
  };
}

export function readCount(reply: Reply, request: Request): number {
  const { count } = successBody(reply, request);
  if (typeof count !== 'number') throw malformed(reply, request);
  return count;
}

/** Throws what any reply but a 200 with an object means. */
export function successBody(reply: Reply, request: Request): Json {
  if (reply.status !== 200) throw errorOf(reply, request);
  if (!isRecord(reply.body)) throw malformed(reply, request);
  return reply.body;
}

export function malformed(reply: Reply, request: Request): ProtocolError {
  const details = { request, attempts: attemptsOf(reply), cause: reply.cause };
  return new ProtocolError(`${reply.url} answered in a form that is not Holdfast’s`, details);
}

function circumstances(body: Json): { isolation: string; referenceCount: number | null } {
  const { isolation, reference_count: count } = body;
  return { isolation: textOr('', isolation), referenceCount: typeof count === 'number' ? count : null };
}

export function isToken(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

export function isDuration(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function textOr(otherwise: string, value: unknown): string {
  return typeof value === 'string' ? value : otherwise;
}
