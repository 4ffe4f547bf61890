/** The configuration the rules depend on (the design). */
export interface Policy {
  /** false: a held key refuses instead of queueing. Governs every type. */
  readonly allowMultiNodeDownload: boolean;
  /** client: the server only excludes and queues; every counting rule is off. */
  readonly refcountMode: 'server' | 'client';
  readonly updateRequiresNoRef: boolean;
  /** resource: at most one operation of any type runs on a resource. */
  readonly lockIsolation: 'operation' | 'resource';
  /** handover: after a success the lock passes on instead of dismissing the waiters. */
  readonly successPolicy: 'dismiss' | 'handover';
  /** Subtypes in order of service; requests without a known subtype come last. */
  readonly lanes: readonly string[];
  /** Any request within this time of a success is skipped. 0 = off. */
  readonly completedSkipMs: number;
  /** 0 = never expires. */
  readonly defaultLeaseMs: number;
  readonly maxQueueLength: number;
}
