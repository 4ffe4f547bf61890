import { Module } from '@nestjs/common';
import { ClockModule } from '../common/clock.module.js';
import { SESSION_DIRECTORY } from '../locking/session-directory.interface.js';
import { SessionKeys } from './session-keys.js';
import { SessionRecords } from './session-records.js';
import { SessionStreams } from './session-streams.js';
import { SessionsController } from './sessions.controller.js';
import { ConfigurableModuleClass } from './sessions.module-definition.js';
import { SessionsService } from './sessions.service.js';

/** Liveness of nodes. Needs the stores, locking and subscriptions modules given as `imports`. */
@Module({
  imports: [ClockModule],
  controllers: [SessionsController],
  providers: [
    SessionRecords,
    SessionKeys,
    SessionsService,
    SessionStreams,
    { provide: SESSION_DIRECTORY, useExisting: SessionsService },
  ],
  exports: [SESSION_DIRECTORY, SessionsService],
})
export class SessionsModule extends ConfigurableModuleClass {}
