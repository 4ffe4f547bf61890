import { CODE, RpcError } from './rpc-error.js';

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** What `grpc-timeout` says, in milliseconds. */
export function timeoutMs(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  if (digits === undefined)
    throw new RpcError(CODE.invalidArgument, `${JSON.stringify(text.slice(0, 20))} is no grpc-timeout.`);
  return Number(digits) * UNIT_MS[unit]!;
}
