import { type FactoryProvider } from '@nestjs/common';
import { REF_COUNT_STORAGE, type RefCountStorage } from './ref-count-storage.interface.js';
import { REF_COUNT_MODULE_OPTIONS, type RefCountModuleOptions } from './ref-count.module-definition.js';

/** A provider of its own, so that the storage gets Nest's lifecycle hooks and tests can override it. */
export const refCountStorageProvider: FactoryProvider<RefCountStorage | undefined> = {
  provide: REF_COUNT_STORAGE,
  inject: [REF_COUNT_MODULE_OPTIONS],
  useFactory: ({ storage }: RefCountModuleOptions) => storage,
};
