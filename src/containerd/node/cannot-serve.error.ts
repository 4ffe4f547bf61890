/** Why the plugin does not start, or stops: what a person has to change. */
export class CannotServeError extends Error {
  override readonly name = 'CannotServeError';

  constructor(
    /** A server that this plugin cannot work with; or another process has this node's id. */
    readonly code: 'WRONG_SERVER' | 'NODE_TAKEN',
    message: string,
  ) {
    super(message);
  }
}
