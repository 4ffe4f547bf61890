/** The messages of proto/content.proto as they are decoded. */

export interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

export type Labels = Readonly<Record<string, string>>;

export interface Info {
  readonly digest: string;
  readonly size: number;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
  readonly labels: Labels;
}

export interface Status {
  readonly started_at: Timestamp;
  readonly updated_at: Timestamp;
  readonly ref: string;
  readonly offset: number;
  readonly total: number;
  readonly expected: string;
}

export interface UpdateRequest {
  readonly info: Pick<Info, 'digest' | 'labels'> | null;
  readonly update_mask: { readonly paths: readonly string[] } | null;
}

export interface ReadRequest {
  readonly digest: string;
  readonly offset: number;
  readonly size: number;
}

export interface ReadResponse {
  readonly offset: number;
  readonly data: Uint8Array;
}

export const ACTION = { stat: 0, write: 1, commit: 2 } as const;

export interface WriteRequest {
  readonly action: number;
  readonly ref: string;
  readonly total: number;
  readonly expected: string;
  readonly offset: number;
  readonly data: Uint8Array;
  readonly labels: Labels;
}

export interface WriteResponse {
  readonly action: number;
  readonly started_at: Timestamp;
  readonly updated_at: Timestamp;
  readonly offset: number;
  readonly total: number;
  readonly digest: string;
}

export function timestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) };
}
