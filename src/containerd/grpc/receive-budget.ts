import { CODE, RpcError } from './rpc-error.js';

/** Two hundred writes that are each in the middle of a megabyte, as containerd sends it; a pull writes three layers at a time. */
const MAX_BYTES = 256 << 20;

/**
 * What all calls together keep of what clients have sent. Windows limit a stream; there may be ten thousand of them on a
 * connection, any number of connections, and a message of many megabytes on the way on each. Nobody is made to wait:
 * messages of which each has come in half would wait for each other for ever.
 */
export class ReceiveBudget {
  constructor(private left = MAX_BYTES) {}

  /** Throws `RpcError` if there is no room. */
  take(bytes: number): void {
    if (bytes > this.left)
      throw new RpcError(
        CODE.resourceExhausted,
        'Too much of what clients have sent waits to be handled: try again later.',
      );
    this.left -= bytes;
  }

  give(bytes: number): void {
    this.left += bytes;
  }
}
