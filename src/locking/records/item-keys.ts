/** Names of a resource's items in the store. Resource ids hold no control characters, so that a NUL can separate. */

const RESOURCES = 'r/';
const SEPARATOR = '\u0000';

export function headKey(resourceId: string): string {
  return RESOURCES + resourceId;
}

export function partKey(resourceId: string, part: string): string {
  return RESOURCES + resourceId + SEPARATOR + part;
}

export function chunkPart(id: number): string {
  return `c${id}`;
}

export const EVENTS_PART = 'e';

export function keyPart(type: string): string {
  return `k${type}`;
}

/** Which resource an item belongs to, and which part of it (none: the head). */
export interface ItemName {
  readonly resourceId: string;
  readonly part: string | undefined;
}

/** Whether it can be the name of anything but a head. */
export function isPart(key: string): boolean {
  return key.includes(SEPARATOR);
}

/** Other things live in the store too. */
export function parseItemKey(key: string): ItemName | undefined {
  if (!key.startsWith(RESOURCES)) return undefined;
  const end = key.indexOf(SEPARATOR);
  if (end < 0) return { resourceId: key.slice(RESOURCES.length), part: undefined };
  return { resourceId: key.slice(RESOURCES.length, end), part: key.slice(end + 1) };
}
