import { type Json } from '../client/reply.js';

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
  return Array.isArray(locks) ? (locks as LockRow[]) : [];
}
