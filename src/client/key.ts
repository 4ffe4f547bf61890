/** What locks are about. */
export interface Key {
  /** The operation: `pull`, `update`, `delete` or a name of your own. */
  readonly type: string;
  readonly resourceId: string;
}

/** A type has no colon in it. */
export function keyName({ type, resourceId }: Key): string {
  return `${type}:${resourceId}`;
}
