import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type LockPolicy } from '../locking/lock-policy.js';

export interface SessionOptions {
  /** Of sessions that ask for none. */
  readonly sessionTtlMs: number;
  readonly policy: LockPolicy;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: SESSION_OPTIONS } =
  new ConfigurableModuleBuilder<SessionOptions>({ moduleName: 'Sessions' })
    .setClassMethodName('forRoot')
    .build();
