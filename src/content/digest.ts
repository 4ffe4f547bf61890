import { ContentError } from './errors.js';

const DIGEST = /^sha256:([0-9a-f]{64})$/;
const HEX = /^[0-9a-f]{64}$/;

/** The only names that reach the disk: whatever else is asked for is refused before a path is made of it. */
export function hexOf(digest: string): string {
  const hex = typeof digest === 'string' ? DIGEST.exec(digest)?.[1] : undefined;
  if (hex !== undefined) return hex;
  throw new ContentError(
    'INVALID_DIGEST',
    `Not a digest: ${JSON.stringify(digest)?.slice(0, 100)}. It must be sha256: and 64 lower-case hexadecimal digits.`,
  );
}

export function digestOf(hex: string): string {
  return `sha256:${hex}`;
}

export function isHex(name: string): boolean {
  return HEX.test(name);
}
