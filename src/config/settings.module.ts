import { Global, Module } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { environmentSettings } from './environment.config.js';
import {
  ConfigurableModuleClass,
  HOLDFAST_OPTIONS,
  type HoldfastOptions,
} from './settings.module-definition.js';
import { type Settings } from './settings.js';

export const SETTINGS = Symbol('SETTINGS');

/** Settings for every other module. Global, as configuration is: there is one of it per application. */
@Global()
@Module({
  imports: [ConfigModule.forFeature(environmentSettings)],
  providers: [
    {
      provide: SETTINGS,
      inject: [HOLDFAST_OPTIONS, environmentSettings.KEY],
      useFactory: ({ settings }: HoldfastOptions, environment: Settings): Settings => ({
        ...environment,
        ...settings,
      }),
    },
  ],
  exports: [SETTINGS, HOLDFAST_OPTIONS],
})
export class SettingsModule extends ConfigurableModuleClass {}
