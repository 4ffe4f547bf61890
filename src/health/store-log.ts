import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { LockManager, type Sight } from '../locking/lock-manager.js';
import { reasonOf } from './reason.js';

/**
 * Says in the log when the changes of the store are not seen any more, and when they are again: also where nobody asks for
 * anything meanwhile. A reason of another kind is told, too; the same one is not told at every try.
 */
@Injectable()
export class StoreLog implements OnModuleDestroy {
  private readonly logger = new Logger('Store');
  private readonly subscription: Subscription;
  /** Kinds of reasons told since it is away. */
  private readonly told = new Set<unknown>();
  private awaySinceMs = 0;

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    manager: LockManager,
  ) {
    this.subscription = manager.sight$.subscribe((sight) => this.write(sight));
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }

  private write(sight: Sight): void {
    if (!sight.isWatching) this.away(sight.cause);
    else if (this.told.size > 0) this.back(sight.setBack);
  }

  private away(cause: unknown): void {
    const kind = (cause as { code?: unknown } | undefined)?.code;
    if (this.told.has(kind)) return;
    if (this.told.size === 0) this.awaySinceMs = this.clock.monotonicMs();
    this.told.add(kind);
    this.logger.warn(`the changes of the store are not seen any more: ${reasonOf(cause)}`);
  }

  private back(setBack: number): void {
    this.told.clear();
    const seconds = ((this.clock.monotonicMs() - this.awaySinceMs) / 1000).toFixed(1);
    this.logger.warn(`the changes of the store are seen again after ${seconds} s`);
    if (setBack === 0) return;
    this.logger.error(
      `the store went back: it has lost changes that were seen here, and ${setBack} resources are as they were before them`,
    );
  }
}
