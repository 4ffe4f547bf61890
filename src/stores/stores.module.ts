import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { ClockModule } from '../common/clock.module.js';
import { createStateStore } from './create-state-store.js';
import { STATE_STORE, type StateStore } from './state-store.interface.js';
import {
  ConfigurableModuleClass,
  STORES_MODULE_OPTIONS,
  type StoresModuleOptions,
} from './stores.module-definition.js';

/** Opens the engine before anybody can ask for it, and closes it when everybody else has stopped. */
@Module({
  imports: [ClockModule],
  providers: [
    {
      provide: STATE_STORE,
      inject: [STORES_MODULE_OPTIONS, CLOCK],
      useFactory: async ({ url, keyPrefix, stateStore }: StoresModuleOptions, clock: Clock) => {
        const store = stateStore ?? (await createStateStore(url, keyPrefix, clock));
        await store.open();
        return store;
      },
    },
  ],
  exports: [STATE_STORE],
})
export class StoresModule extends ConfigurableModuleClass implements OnApplicationShutdown {
  constructor(@Inject(STATE_STORE) private readonly store: StateStore) {
    super();
  }

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}
