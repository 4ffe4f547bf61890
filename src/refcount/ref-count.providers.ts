import { type FactoryProvider } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { RefCountManager } from './ref-count-manager.js';
import { REF_COUNT_STORAGE, type RefCountStorage } from './ref-count-storage.interface.js';
import { REF_COUNT_MODULE_OPTIONS, type RefCountModuleOptions } from './ref-count.module-definition.js';

/** A provider of its own, so that the storage gets Nest's lifecycle hooks and tests can override it. */
export const refCountStorageProvider: FactoryProvider<RefCountStorage | undefined> = {
  provide: REF_COUNT_STORAGE,
  inject: [REF_COUNT_MODULE_OPTIONS],
  useFactory: ({ storage }: RefCountModuleOptions) => storage,
};

export const refCountManagerProvider: FactoryProvider<RefCountManager | undefined> = {
  provide: RefCountManager,
  inject: [REF_COUNT_STORAGE, REF_COUNT_MODULE_OPTIONS, { token: CLOCK, optional: true }],
  useFactory: (storage: RefCountStorage | undefined, options: RefCountModuleOptions, clock?: Clock) =>
    storage && new RefCountManager(storage, { updateRequiresNoRef: options.updateRequiresNoRef, clock }),
};
