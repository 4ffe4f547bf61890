import { type DynamicModule, Module } from '@nestjs/common';
import { type Settings } from './config/settings.js';
import { SETTINGS, SettingsModule } from './config/settings.module.js';
import { HOLDFAST_OPTIONS, type HoldfastOptions } from './config/settings.module-definition.js';
import { HealthModule } from './health/health.module.js';
import { InstancesModule } from './instances/instances.module.js';
import { LockingApiModule } from './locking/locking-api.module.js';
import { LockingModule } from './locking/locking.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { assertEmbedded, refCountStorageFor } from './refcount/ref-count-storage.setting.js';
import { RefCountModule } from './refcount/ref-count.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { isSharedStore } from './stores/store-url.js';
import { StoresModule } from './stores/stores.module.js';
import { SubscriptionsModule } from './subscriptions/subscriptions.module.js';

const stores = StoresModule.forRootAsync({
  inject: [SETTINGS, HOLDFAST_OPTIONS],
  useFactory: ({ storeUrl, keyPrefix }: Settings, { stateStore }: HoldfastOptions) => ({
    url: storeUrl,
    keyPrefix,
    stateStore,
  }),
});

const refCounts = RefCountModule.forRootAsync({
  inject: [SETTINGS, HOLDFAST_OPTIONS],
  useFactory: ({ refcountStorage, storeUrl }: Settings, options: HoldfastOptions) => {
    const storage = options.refCountStorage ?? refCountStorageFor(refcountStorage);
    assertEmbedded(
      storage,
      options.stateStore ? options.stateStore.shared === true : isSharedStore(storeUrl),
    );
    return { storage };
  },
});

const locking = LockingModule.forRootAsync({
  imports: [stores, refCounts],
  inject: [SETTINGS],
  useFactory: (settings: Settings) => settings,
});

const instances = InstancesModule.forRoot([stores, locking]);

const subscriptions = SubscriptionsModule.forRootAsync({
  imports: [locking, instances],
  inject: [SETTINGS],
  useFactory: (settings: Settings) => ({
    policy: settings,
    heartbeatMs: settings.sseHeartbeatMs,
    bindGraceMs: settings.bindGraceMs,
  }),
});

const sessions = SessionsModule.forRootAsync({
  imports: [stores, locking, instances, subscriptions],
  inject: [SETTINGS],
  useFactory: (settings: Settings) => ({ policy: settings, sessionTtlMs: settings.sessionTtlMs }),
});

const lockingApi = LockingApiModule.forRootAsync({
  imports: [locking, sessions],
  inject: [SETTINGS],
  useFactory: (settings: Settings) => ({ policy: settings, maxWaitMs: settings.maxWaitMs }),
});

/** All of Holdfast, for programs that embed or extend it. The server is this and nothing else. */
@Module({
  // The first module's routes are the first that a request is compared with.
  imports: [
    lockingApi,
    stores,
    refCounts,
    locking,
    instances,
    subscriptions,
    sessions,
    HealthModule.forRoot([stores, locking]),
    MetricsModule.forRoot([locking, subscriptions, sessions, lockingApi]),
  ],
  exports: [locking],
})
export class HoldfastModule {
  static forRoot(options: HoldfastOptions = {}): DynamicModule {
    return { module: HoldfastModule, imports: [SettingsModule.forRoot(options)] };
  }

  static forRootAsync(options: Parameters<typeof SettingsModule.forRootAsync>[0]): DynamicModule {
    return { module: HoldfastModule, imports: [SettingsModule.forRootAsync(options)] };
  }
}
