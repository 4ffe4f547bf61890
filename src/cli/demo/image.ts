import { createHash } from 'node:crypto';

export interface Layer {
  /** From 1. */
  readonly number: number;
  readonly digest: string;
  readonly bytes: number;
}

const MB = 1_000_000;

/** Of a base system, a runtime and their many small additions: most layers are small, some are not. */
const SIZES_MB = [76, 4, 31, 12, 118, 7, 54, 22, 3, 61, 9, 140, 17, 44, 6, 28, 83, 11, 36, 19];

/** An image of this many layers, the same each time. */
export function image(layers: number): readonly Layer[] {
  return Array.from({ length: layers }, (_, index) => ({
    number: index + 1,
    digest: `sha256:${createHash('sha256').update(`layer ${index}`).digest('hex')}`,
    bytes: SIZES_MB[index % SIZES_MB.length]! * MB,
  }));
}

export function size(bytes: number): string {
  return bytes >= 1000 * MB ? `${(bytes / (1000 * MB)).toFixed(1)} GB` : `${Math.round(bytes / MB)} MB`;
}
