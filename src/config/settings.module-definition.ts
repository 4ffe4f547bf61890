import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type RefCountStorage } from '../refcount/ref-count-storage.interface.js';
import { type StateStore } from '../stores/state-store.interface.js';
import { type Settings } from './settings.js';

/** What a program that embeds Holdfast may say. All of it has a default. */
export interface HoldfastOptions {
  /** Instead of what the environment says, setting by setting. */
  readonly settings?: Partial<Settings> | undefined;
  /** An engine of one's own, proven by `stateStoreContract`; `storeUrl` is then not used. Not yet open. */
  readonly stateStore?: StateStore | undefined;
  /** A storage of one's own, proven by `refCountStorageContract`; `refcountStorage` is then not used. */
  readonly refCountStorage?: RefCountStorage | undefined;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: HOLDFAST_OPTIONS } =
  new ConfigurableModuleBuilder<HoldfastOptions>({ moduleName: 'Holdfast' })
    .setClassMethodName('forRoot')
    .build();
