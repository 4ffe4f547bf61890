import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type LockPolicy } from './lock-policy.js';

export interface LockingApiOptions {
  readonly policy: LockPolicy;
  /** Longest `wait_ms`. */
  readonly maxWaitMs: number;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: LOCKING_API_OPTIONS } =
  new ConfigurableModuleBuilder<LockingApiOptions>({ moduleName: 'LockingApi' })
    .setClassMethodName('forRoot')
    .build();
