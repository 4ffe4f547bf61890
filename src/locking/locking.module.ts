import { Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { RANDOM } from '../common/random.interface.js';
import { EventsModule } from '../subscriptions/events.module.js';
import { LockList } from './lock-list.js';
import { LockManager } from './lock-manager.js';
import { ConfigurableModuleClass, LOCK_POLICY } from './locking.module-definition.js';

/** Needs a `STATE_STORE` and, optionally, a `REF_COUNT_STORAGE` from the modules given as `imports`. */
@Module({
  imports: [ClockModule, EventsModule],
  providers: [LockManager, LockList, { provide: RANDOM, useValue: Math.random }],
  exports: [LockManager, LockList, LOCK_POLICY, EventsModule],
})
export class LockingModule extends ConfigurableModuleClass {}
