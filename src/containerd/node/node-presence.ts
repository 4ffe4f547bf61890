import {
  type Hold,
  type HoldfastError,
  type Key,
  type LockClient,
  type LockOptions,
  UnavailableError,
} from '../../client/index.js';
import { CannotServeError } from './cannot-serve.error.js';

/** A process of this node that has died is forgotten with its session: ten seconds, unless the server was told otherwise. */
const WAIT_MS = 30_000;

/**
 * That no other process serves this node: a lock on the server, held as long as the process lives. Two would have the same
 * records, and the garbage collection of the one takes the layers of the other, wherever they run.
 */
export class NodePresence {
  private hold: Hold | undefined;
  private taking: Promise<void> | undefined;

  constructor(
    private readonly client: LockClient,
    private readonly log: (line: string) => void,
    /** It was taken from this process, which was silent for too long. */
    private readonly onLost: () => void,
    private readonly waitMs = WAIT_MS,
  ) {}

  /** Throws `CannotServeError` if another process has it and lives. Who asks meanwhile gets the same: nobody waits for himself. */
  take(signal: AbortSignal): Promise<void> {
    this.taking ??= this.takeNow(signal).finally(() => (this.taking = undefined));
    return this.taking;
  }

  private async takeNow(signal: AbortSignal): Promise<void> {
    if (this.hold && !this.hold.isLost) return;
    if (this.hold) await this.giveBack(this.hold);
    this.hold = (await this.ask({ waitMs: 0, signal })) ?? (await this.waitFor(signal));
    this.hold.signal.addEventListener('abort', this.onLost, { once: true });
  }

  /** The server may know it still, for as long as a session lives: nobody is to wait for this very process. */
  private async giveBack(lost: Hold): Promise<void> {
    try {
      await this.client.unlock(lost, { success: false, error: 'lost' });
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
    }
  }

  private async waitFor(signal: AbortSignal): Promise<Hold> {
    const { nodeId } = this.client;
    this.log(`The server knows of a process that serves node ${nodeId}: if it has died, that is over soon.`);
    const hold = await this.ask({ waitMs: this.waitMs, signal });
    if (hold) return hold;
    await this.client.status(this.key); // throws if it was the server that did not answer
    throw new CannotServeError(
      'NODE_TAKEN',
      `Another process serves node ${nodeId}, on this host or another. Give each its own --node: nodes that share one lose each other's layers.`,
    );
  }

  /** `undefined`: another has it. */
  private async ask(options: LockOptions): Promise<Hold | undefined> {
    const { hold, error } = await this.client.lock(this.key, options);
    if (error && !isHeld(error)) throw error;
    return hold;
  }

  private get key(): Key {
    return { type: 'serve', resourceId: `containerd-plugin/${this.client.nodeId}` };
  }
}

/** A server that lets nobody queue refuses instead. */
function isHeld(error: HoldfastError): boolean {
  return error.code === 'WAIT_TIMEOUT' || error.code === 'LOCK_HELD';
}
