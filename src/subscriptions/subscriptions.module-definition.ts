import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type LockPolicy } from '../locking/lock-policy.js';

export interface SubscriptionOptions {
  readonly policy: LockPolicy;
  readonly heartbeatMs: number;
  readonly bindGraceMs: number;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: SUBSCRIPTION_OPTIONS } =
  new ConfigurableModuleBuilder<SubscriptionOptions>({ moduleName: 'Subscriptions' })
    .setClassMethodName('forRoot')
    .build();
