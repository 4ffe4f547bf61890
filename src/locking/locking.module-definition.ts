import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type LockPolicy } from './lock-policy.js';

/** The module's options are the policy itself. */
export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: LOCK_POLICY } =
  new ConfigurableModuleBuilder<LockPolicy>({ moduleName: 'Locking' }).setClassMethodName('forRoot').build();
