import { Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { Batches } from './batches.js';
import { ReleaseGuard, RenewGuard } from './guards/holder.guard.js';
import { ConfigurableModuleClass } from './locking-api.module-definition.js';
import { LockingController } from './locking.controller.js';
import { LockingService } from './locking.service.js';
import { LongPolls } from './long-polls.js';
import { ReferencesController } from './references.controller.js';
import { ReferencesService } from './references.service.js';

/** The endpoints. Needs the `LockingModule` and a `SESSION_DIRECTORY` from the modules given as `imports`. */
@Module({
  imports: [ClockModule],
  controllers: [LockingController, ReferencesController],
  providers: [LockingService, Batches, LongPolls, ReferencesService, ReleaseGuard, RenewGuard],
  exports: [LockingService, LongPolls],
})
export class LockingApiModule extends ConfigurableModuleClass {}
