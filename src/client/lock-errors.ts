import { lockBody } from './bodies.js';
import { ClosedError, RefusedError, type SentRequest, WaitTimeoutError } from './errors.js';
import { errorOf } from './reply.js';
import { type LockRequest } from './requests.js';
import { type Tries } from './tries.js';

/** What calls for a lock fail with although no request did: each error is the call's own, with what it asks for. */
export class LockErrors {
  constructor(private readonly identity: () => string) {}

  timedOut(request: LockRequest, waitMs: number, tries: Tries): WaitTimeoutError {
    const asked = this.asked(request);
    const cause = tries.trouble && errorOf(tries.trouble, asked);
    return new WaitTimeoutError(waitMs, request, { request: asked, attempts: [...tries.attempts], cause });
  }

  /** After the closing the client has no session any more; `identity` is that of the one that asked. */
  closed(request: LockRequest, identity?: string): ClosedError {
    return new ClosedError({ request: this.asked(request, identity) });
  }

  heldHere(request: LockRequest): RefusedError {
    const message = 'Another call of this client has it, waits for it, or is just giving it up: try again.';
    return new RefusedError('LOCK_HELD', message, { request: this.asked(request) });
  }

  private asked(request: LockRequest, identity = this.identity()): SentRequest {
    return { method: 'POST', path: '/lock', body: lockBody(request, identity, request.ticket) };
  }
}
