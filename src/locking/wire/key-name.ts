/** A key as requests name it. */
export interface KeyName {
  readonly type: string;
  readonly resourceId: string;
}
