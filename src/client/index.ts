/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
/** The client of Holdfast: `import { LockClient } from 'holdfast/client'`. */
export { type CancelTimer, type Clock, SystemClock } from './clock.js';
export {
  type Attempt,
  BadRequestError,
  ClosedError,
  HoldfastError,
  HoldLostError,
  ProtocolError,
  QueueFullError,
  RefusedError,
  type SentRequest,
  UnavailableError,
  WaitTimeoutError,
} from './errors.js';
export { FATAL, FatalError } from './fatal.js';
export { type Hold } from './hold.js';
export { type Key } from './key.js';
export { LockClient } from './lock-client.js';
export { type LockClientOptions } from './options.js';
export { type ReferenceCalls } from './reference-calls.js';
export {
  type Doer,
  type LockOptions,
  type LockRequest,
  type LockResult,
  type LockStatus,
  type Outcome,
  type References,
  type TryLockResult,
  type UnlockResult,
} from './requests.js';
export { type RunResult, type Work } from './run-once.js';
