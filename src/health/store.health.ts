import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { type Subscription } from 'rxjs';
import { LockManager } from '../locking/lock-manager.js';
import { STATE_STORE, type StateStore } from '../stores/state-store.interface.js';
import { reasonOf } from './reason.js';

/** Ready while the store answers, its changes are seen, and nobody has asked the process to stop. */
@Injectable()
export class StoreHealth implements OnModuleDestroy {
  private stopping = false;
  private trouble: unknown;
  private readonly subscription: Subscription;

  constructor(
    @Inject(STATE_STORE) private readonly store: StateStore,
    private readonly manager: LockManager,
    private readonly indicators: HealthIndicatorService,
  ) {
    this.subscription = manager.sight$.subscribe((sight) => {
      this.trouble = sight.isWatching ? undefined : sight.cause;
    });
  }

  /** Of all that happens at a shutdown, this is the first. */
  onModuleDestroy(): void {
    this.stopping = true;
    this.subscription.unsubscribe();
  }

  async check() {
    const indicator = this.indicators.check('store');
    if (this.stopping) return indicator.down('the server is stopping');
    try {
      await this.store.get(0, ['health']);
    } catch (error) {
      return indicator.down(reasonOf(error));
    }
    if (!this.manager.isWatching)
      return indicator.down(`the changes of the store are not seen at the moment: ${reasonOf(this.trouble)}`);
    return indicator.up();
  }
}
