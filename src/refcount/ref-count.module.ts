import { Module } from '@nestjs/common';
import { RefCountManager } from './ref-count-manager.js';
import { REF_COUNT_STORAGE } from './ref-count-storage.interface.js';
import { ConfigurableModuleClass } from './ref-count.module-definition.js';
import { refCountManagerProvider, refCountStorageProvider } from './ref-count.providers.js';

/**
 * Says where reference counts live: `forRoot({ storage })`, or `forRootAsync` for a storage with dependencies.
 *
 * Without a `storage` both `REF_COUNT_STORAGE` and `RefCountManager` resolve to `undefined`: references are then part of
 * each resource's own state, where only the lock manager reaches them. With one, exactly one side may write to it:
 * on the server that is the lock manager, inside its own serialised step; `RefCountManager` writes only in programs
 * that count for themselves.
 *
 * Nest calls the storage's lifecycle hooks; for a storage that is a provider of another module as well it calls them
 * twice, so they must be idempotent.
 */
@Module({
  providers: [refCountStorageProvider, refCountManagerProvider],
  exports: [REF_COUNT_STORAGE, RefCountManager],
})
export class RefCountModule extends ConfigurableModuleClass {}
