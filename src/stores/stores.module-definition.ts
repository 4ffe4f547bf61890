import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type StateStore } from './state-store.interface.js';

export interface StoresModuleOptions {
  /** Names one of our engines: `memory:`, `file:DIR`, `redis://…`, `etcd://…`. */
  readonly url: string;
  /** What the keys of outside engines begin with. */
  readonly keyPrefix: string;
  /** An engine of the user's, not yet open; the url is then not looked at. */
  readonly stateStore?: StateStore | undefined;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: STORES_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<StoresModuleOptions>({ moduleName: 'Stores' })
    .setClassMethodName('forRoot')
    .build();
