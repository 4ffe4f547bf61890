import { Module } from '@nestjs/common';
import { REF_COUNT_STORAGE } from './ref-count-storage.interface.js';
import { ConfigurableModuleClass } from './ref-count.module-definition.js';
import { refCountStorageProvider } from './ref-count.providers.js';

/**
 * Says where reference counts live: `forRoot({ storage })`, or `forRootAsync` for a storage with dependencies.
 *
 * Without a `storage` `REF_COUNT_STORAGE` resolves to `undefined`: references are then part of each resource's own
 * state, where only the lock manager reaches them. With one, the lock manager alone writes to it, inside its own
 * serialised step; a `RefCountManager` is for programs that count for themselves.
 *
 * Nest calls the storage's lifecycle hooks; for a storage that is a provider of another module as well it calls them
 * twice, so they must be idempotent.
 */
@Module({
  providers: [refCountStorageProvider],
  exports: [REF_COUNT_STORAGE],
})
export class RefCountModule extends ConfigurableModuleClass {}
