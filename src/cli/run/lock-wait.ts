import { type Clock, type LockClient, type LockRequest, type LockStatus } from '../../client/index.js';
import { since } from '../times.js';
import { soon } from './soon.js';

/** Shorter waits need no word. */
const WORD_AFTER_MS = 1000;

/** `--wait` is over. Its cause is the trouble that kept the lock from being asked for, if there was any. */
export class NotGranted extends Error {
  override readonly name = 'NotGranted';
  readonly code = 'WAIT_TIMEOUT';
}

/** What can be told of a wait for a lock. */
export class LockWait {
  private readonly cancelWord: () => void;
  private isOver = false;

  /** Says once for whom it waits, unless it is over soon. */
  constructor(
    private readonly client: Pick<LockClient, 'status'>,
    private readonly request: LockRequest,
    private readonly clock: Clock,
    private readonly say: (what: string) => void,
  ) {
    this.cancelWord = clock.after(WORD_AFTER_MS, () => void this.tell(), true);
  }

  over(): void {
    this.isOver = true;
    this.cancelWord();
  }

  /** Who holds the lock is not asked of a server that cannot tell. */
  async notGrantedWithin(waitMs: number, trouble?: unknown): Promise<NotGranted> {
    if (trouble !== undefined)
      return new NotGranted(`${this.key} was not granted within ${waitMs} ms.`, { cause: trouble });
    const status = await this.look();
    const held = status && heldBy(status);
    if (waitMs === 0)
      return new NotGranted(
        `${this.key} ${held ? `is ${held}` : 'was held'}: --wait 0 does not queue for it.`,
      );
    const why = held ? `: ${held}` : '';
    return new NotGranted(`${this.key} was not granted within ${waitMs} ms${why}; the queue was left.`);
  }

  private get key(): string {
    return `${this.request.type} ${this.request.resourceId}`;
  }

  private async tell(): Promise<void> {
    const status = await this.look();
    if (this.isOver || status?.position === undefined) return;
    const held = heldBy(status) ?? 'another operation on it is under way';
    this.say(`Waiting for ${this.key}: ${held}, position ${status.position}`);
  }

  private look(): Promise<LockStatus | undefined> {
    return soon(this.clock, this.client.status(this.request));
  }
}

function heldBy({ holder, acquired }: LockStatus): string | undefined {
  return holder && !acquired ? `held by ${holder.nodeId} for ${since(holder.acquiredAt)}` : undefined;
}
