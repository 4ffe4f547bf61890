import { Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { EventBus } from './event-bus.js';
import { ResourceListeners } from './resource-listeners.js';

@Module({
  imports: [ClockModule],
  providers: [EventBus, ResourceListeners],
  exports: [EventBus, ResourceListeners],
})
export class EventsModule {}
