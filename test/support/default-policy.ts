import { type Policy } from '../../src/core/policy.js';

/** The defaults of the design */
export const DEFAULT_POLICY: Policy = {
  allowMultiNodeDownload: true,
  refcountMode: 'server',
  updateRequiresNoRef: false,
  lockIsolation: 'operation',
  successPolicy: 'dismiss',
  lanes: [],
  completedSkipMs: 0,
  defaultLeaseMs: 3_600_000,
  maxQueueLength: 10_000,
};
