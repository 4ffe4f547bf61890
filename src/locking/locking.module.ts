import { Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { LockManager } from './lock-manager.js';
import { ConfigurableModuleClass } from './locking.module-definition.js';

/** Needs a `STATE_STORE` and, optionally, a `REF_COUNT_STORAGE` from the modules given as `imports`. */
@Module({ imports: [ClockModule], providers: [LockManager, EventBus], exports: [LockManager, EventBus] })
export class LockingModule extends ConfigurableModuleClass {}
