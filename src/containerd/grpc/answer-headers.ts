import { headerBlock } from '../http2/hpack/header-block.js';
import { CODE, type Code } from './rpc-error.js';

/** How a call ended. */
export interface RpcStatus {
  readonly code: Code | 0;
  readonly details: string;
}

export const OK: RpcStatus = { code: 0, details: '' };

const HEADERS = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
] as const;

/** Before the messages of an answer. */
export const ANSWER_HEADERS = headerBlock(HEADERS);

const OK_TRAILERS = headerBlock([['grpc-status', '0']]);

export function trailersOf(status: RpcStatus): Buffer {
  return status === OK ? OK_TRAILERS : headerBlock(statusFields(status));
}

/** For an answer without messages: its trailers are its headers. */
export function trailersOnly(status: RpcStatus): Buffer {
  return Buffer.concat([ANSWER_HEADERS, trailersOf(status)]);
}

/** For what is no call at all. */
export function httpStatus(status: number, details: string): Buffer {
  const fields = statusFields({ code: CODE.unknown, details });
  return headerBlock([[':status', String(status)], ...fields]);
}

function statusFields({ code, details }: RpcStatus): [string, string][] {
  const fields: [string, string][] = [['grpc-status', String(code)]];
  return details === '' ? fields : [...fields, ['grpc-message', percentEncoded(details)]];
}

/** Longer ones do not fit into one frame; nobody reads that far. */
const MAX_DETAILS_BYTES = 4096;

function percentEncoded(details: string): string {
  const bytes = Buffer.from(details).subarray(0, MAX_DETAILS_BYTES);
  return bytes.toString('latin1').replace(/[^ -$&-~]/g, hexOf);
}

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
