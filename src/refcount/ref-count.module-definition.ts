import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type RefCountStorage } from './ref-count-storage.interface.js';

export interface RefCountModuleOptions {
  /** Where counts live. None: in the resource's own state, the server's default. */
  readonly storage?: RefCountStorage | undefined;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: REF_COUNT_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<RefCountModuleOptions>({ moduleName: 'RefCount' })
    .setClassMethodName('forRoot')
    .build();
