import { Module } from '@nestjs/common';
import { EventBus } from './event-bus.js';
import { ResourceListeners } from './resource-listeners.js';

@Module({ providers: [EventBus, ResourceListeners], exports: [EventBus, ResourceListeners] })
export class EventsModule {}
