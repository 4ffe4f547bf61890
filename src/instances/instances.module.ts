import { type DynamicModule, Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { Heartbeat } from './heartbeat.js';
import { InstanceRecords } from './instance-records.js';
import { Instances } from './instances.js';

@Module({})
export class InstancesModule {
  /** The modules that provide the `STATE_STORE` and the `LockManager`. */
  static forRoot(imports: DynamicModule[]): DynamicModule {
    return {
      module: InstancesModule,
      imports: [ClockModule, ...imports],
      providers: [InstanceRecords, Heartbeat, Instances],
      exports: [Heartbeat, Instances],
    };
  }
}
