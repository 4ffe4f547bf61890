import { invalid } from '../grpc/rpc-error.js';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** What a call names as a digest, which becomes part of paths. */
export function checkedDigest(digest: string): string {
  if (DIGEST.test(digest)) return digest;
  throw invalid(
    `${JSON.stringify(digest.slice(0, 100))} is not a digest: sha256: and 64 lower-case hexadecimal digits.`,
  );
}
