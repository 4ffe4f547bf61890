import { type DynamicModule, Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsService } from './metrics.service.js';

@Module({})
export class MetricsModule {
  /** The modules whose gauges it shows. */
  static forRoot(imports: DynamicModule[]): DynamicModule {
    return {
      module: MetricsModule,
      imports: [ClockModule, ...imports],
      controllers: [MetricsController],
      providers: [MetricsService],
    };
  }
}
