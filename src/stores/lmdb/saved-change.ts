/** A change as it goes to disk: what it says has been put into words. */
export interface SavedChange {
  readonly key: string;
  readonly revision: number;
  /** `undefined`: the key was deleted at this revision. */
  readonly value: string | undefined;
}
