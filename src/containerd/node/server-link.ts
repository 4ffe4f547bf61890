import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  HoldfastError,
  type LockClient,
  ProtocolError,
  RefusedError,
  UnavailableError,
  WaitTimeoutError,
} from '../../client/index.js';
import { CODE, RpcError } from '../grpc/rpc-error.js';
import { CannotServeError } from './cannot-serve.error.js';
import { NodePresence } from './node-presence.js';
import { whyUnreachable } from './why-unreachable.js';

/** From the first try to reach a server that is gone to the next ones. */
const RETRY_MS = { first: 500, most: 10_000 } as const;

/** A server that takes longer to grant a lock is waited for in the background: containerd is to be served meanwhile. */
const CHECK_MS = 5000;

/** Nobody answers. */
class UnreachableError extends RpcError {
  constructor(cause?: unknown) {
    super(CODE.unavailable, 'Holdfast cannot be reached: try again later.', cause);
  }
}

export interface LinkEvents {
  /** It answers, at first or again, and is of the right kind. */
  up(): Promise<void>;
  /** It answers, and this plugin must not go on. */
  wrong(error: CannotServeError): void;
  log(line: string): void;
}

/**
 * Whether the server answers. Once it did not, nobody waits for it any more: calls fail at once until a try in the background
 * has reached it again.
 */
export class ServerLink {
  private isUp = false;
  /** Of the first try. */
  private whyDown = '';
  private readonly closed = new AbortController();
  private trying: Promise<void> | undefined;
  private readonly presence: NodePresence;

  constructor(
    readonly client: LockClient,
    private readonly urls: readonly string[],
    private readonly events: LinkEvents,
  ) {
    const log = (line: string) => events.log(line);
    this.presence = new NodePresence(client, log, () => void this.forgotten());
  }

  /** Throws `CannotServeError`. No other process of this node changes anything once it resolves, if the server has answered. */
  async open(): Promise<void> {
    try {
      await this.meet();
    } catch (error) {
      if (error instanceof CannotServeError) throw error;
      this.whyDown = await this.reasonOf(error);
    }
  }

  /** Tells the server what the node uses. One that does not answer is waited for in the background. */
  async begin(): Promise<void> {
    if (!this.isUp) return this.goDown(this.whyDown);
    try {
      await this.events.up();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.goDown((error as Error).message);
    }
  }

  /** Throws `UnreachableError` if the server does not answer. */
  async call<T>(task: () => Promise<T>): Promise<T> {
    if (!this.isUp) throw new UnreachableError();
    try {
      return await task();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.goDown((error as Error).message);
      throw new UnreachableError(error);
    }
  }

  /** Of a call that went past `call`. */
  noticed(error: unknown): void {
    if (isUnreachable(error)) this.goDown((error as Error).message);
  }

  async close(): Promise<void> {
    this.closed.abort();
    await this.trying;
  }

  private goDown(why: string): void {
    this.isUp = false;
    if (this.trying || this.closed.signal.aborted) return;
    this.events.log(`Holdfast cannot be reached: ${why}`);
    this.trying = this.tryUntilUp().finally(() => (this.trying = undefined));
  }

  /** `check` gives up before the client does, and knows only that nothing came of it. */
  private async reasonOf(error: unknown): Promise<string> {
    if (!(error instanceof WaitTimeoutError)) return (error as Error).message;
    const why = await whyUnreachable(this.urls, this.client.nodeId);
    return `${why ?? `no answer from ${this.urls.join(', ')} within ${CHECK_MS} ms`}. It is tried again and again.`;
  }

  private async tryUntilUp(): Promise<void> {
    const { signal } = this.closed;
    for (let pauseMs: number = RETRY_MS.first; ; pauseMs = Math.min(2 * pauseMs, RETRY_MS.most)) {
      try {
        await delay(pauseMs, undefined, { signal });
        await this.meet();
        this.events.log('Holdfast can be reached again.');
        await this.events.up();
        if (this.isUp) return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof CannotServeError) return this.events.wrong(error);
        if (this.isUp) this.events.log(`What this node uses could not be told: ${(error as Error).message}`);
        this.isUp = false;
      }
    }
  }

  /** The server has forgotten this process: it was silent for too long, or the server has lost what it knew. */
  private async forgotten(): Promise<void> {
    if (!this.isUp || this.closed.signal.aborted) return;
    try {
      await this.presence.take(this.closed.signal);
      await this.events.up();
    } catch (error) {
      if (this.closed.signal.aborted) return;
      if (error instanceof CannotServeError) this.events.wrong(error);
      else this.goDown((error as Error).message);
    }
  }

  private async meet(): Promise<void> {
    await this.check();
    await this.presence.take(this.closed.signal);
    this.isUp = true;
  }

  /** Takes a lock that means nothing: its answer tells how the server isolates. */
  private async check(): Promise<void> {
    const resourceId = `containerd-plugin-check-${randomUUID()}`;
    const { hold, isolation, error } = await this.client.lock(
      { type: 'check', resourceId },
      { waitMs: CHECK_MS },
    );
    if (!hold) throw error ?? new ProtocolError('A lock that nobody else can have was not granted.');
    await this.client.unlock(hold, { success: true });
    if (isolation !== 'resource')
      throw new CannotServeError(
        'WRONG_SERVER',
        `The server isolates by ${isolation}: a node's pull may run beside another's delete of the same layer. Start it with LOCK_ISOLATION=resource.`,
      );
    await this.client.refs.get(resourceId).catch((cause: unknown) => {
      if (!(cause instanceof RefusedError) && !isDisabled(cause)) throw cause;
      throw new CannotServeError(
        'WRONG_SERVER',
        'The server does not count references, so that no node may ever delete a layer. Start it with REFCOUNT_MODE=server.',
      );
    });
  }
}

/** Also when something else answers at its address. */
export function isUnreachable(error: unknown): boolean {
  return (
    error instanceof UnreachableError || error instanceof UnavailableError || error instanceof ProtocolError
  );
}

function isDisabled(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'REFCOUNT_DISABLED';
}
