import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { ClockModule } from '../common/clock.module.js';
import { HealthController } from './health.controller.js';
import { StoreHealth } from './store.health.js';
import { StoreLog } from './store-log.js';

@Module({})
export class HealthModule {
  /** The modules that provide the `STATE_STORE` and the `LockManager`. */
  static forRoot(imports: DynamicModule[]): DynamicModule {
    return {
      module: HealthModule,
      imports: [ClockModule, TerminusModule.forRoot({ errorLogStyle: 'json', logger: false }), ...imports],
      controllers: [HealthController],
      providers: [StoreHealth, StoreLog],
    };
  }
}
