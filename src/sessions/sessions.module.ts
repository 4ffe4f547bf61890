import { Module } from '@nestjs/common';
import { SESSION_DIRECTORY } from '../locking/session-directory.interface.js';
import { SessionEndings } from './session-endings.js';
import { SessionKeys } from './session-keys.js';
import { SessionRecords } from './session-records.js';
import { SessionStreams } from './session-streams.js';
import { SessionTable } from './session-table.js';
import { SessionsController } from './sessions.controller.js';
import { ConfigurableModuleClass } from './sessions.module-definition.js';
import { SessionsService } from './sessions.service.js';

/** Liveness of nodes. Needs the stores, locking, instances and subscriptions modules given as `imports`. */
@Module({
  controllers: [SessionsController],
  providers: [
    SessionRecords,
    SessionKeys,
    SessionTable,
    SessionEndings,
    SessionsService,
    SessionStreams,
    { provide: SESSION_DIRECTORY, useExisting: SessionsService },
  ],
  exports: [SESSION_DIRECTORY, SessionsService],
})
export class SessionsModule extends ConfigurableModuleClass {}
