import { Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { Bindings } from './bindings.js';
import { EverythingService } from './everything.service.js';
import { KeyAudiences } from './key-audiences.js';
import { OpenStreams } from './open-streams.js';
import { SubscriptionsController } from './subscriptions.controller.js';
import { ConfigurableModuleClass } from './subscriptions.module-definition.js';
import { SubscriptionsService } from './subscriptions.service.js';

/** Event streams. Needs the `LockingModule` and the `InstancesModule` from the modules given as `imports`. */
@Module({
  imports: [ClockModule],
  controllers: [SubscriptionsController],
  providers: [SubscriptionsService, KeyAudiences, EverythingService, Bindings, OpenStreams],
  exports: [OpenStreams],
})
export class SubscriptionsModule extends ConfigurableModuleClass {}
