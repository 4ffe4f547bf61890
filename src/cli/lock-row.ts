import { malformed } from '../client/answers.js';
import { isRecord, type Json } from '../client/reply.js';
import { type AnswerCheck } from './server-calls.js';

/** One key of `GET /locks`, and of the snapshot of `GET /events`. */
export interface LockRow {
  readonly type: string;
  readonly resource_id: string;
  readonly held: boolean;
  readonly holder?: {
    readonly node_id: string;
    readonly session_id?: string;
    readonly acquired_at: string;
    readonly token: number;
    readonly lease_ms: number;
  };
  readonly queue_length: number;
}

export function lockRows({ locks }: Json): readonly LockRow[] {
  return locks as LockRow[];
}

export const checkLocks: AnswerCheck = (reply, request) => {
  if (!hasLocks(reply.body)) throw malformed(reply, request);
};

export function hasLocks(page: unknown): boolean {
  return isRecord(page) && Array.isArray(page['locks']) && page['locks'].every(isRow);
}

function isRow(row: unknown): boolean {
  if (!isRecord(row)) return false;
  const { type, resource_id: resource, held, holder, queue_length: waiters } = row;
  const isKey = typeof type === 'string' && typeof resource === 'string';
  return isKey && typeof held === 'boolean' && typeof waiters === 'number' && (!holder || isHolder(holder));
}

function isHolder(holder: unknown): boolean {
  if (!isRecord(holder)) return false;
  return typeof holder['node_id'] === 'string' && typeof holder['acquired_at'] === 'string';
}
