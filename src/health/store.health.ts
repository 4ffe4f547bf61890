import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { LockManager } from '../locking/lock-manager.js';
import { STATE_STORE, type StateStore } from '../stores/state-store.interface.js';

/** Ready while the store answers, its changes are seen, and nobody has asked the process to stop. */
@Injectable()
export class StoreHealth implements OnModuleDestroy {
  private stopping = false;

  constructor(
    @Inject(STATE_STORE) private readonly store: StateStore,
    private readonly manager: LockManager,
    private readonly indicators: HealthIndicatorService,
  ) {}

  /** Of all that happens at a shutdown, this is the first. */
  onModuleDestroy(): void {
    this.stopping = true;
  }

  async check() {
    const indicator = this.indicators.check('store');
    if (this.stopping) return indicator.down('the server is stopping');
    if (!this.manager.isWatching)
      return indicator.down('the changes of the store are not seen at the moment');
    try {
      await this.store.get(0, ['health']);
      return indicator.up();
    } catch (error) {
      return indicator.down(error instanceof Error ? error.message : String(error));
    }
  }
}
