import { Module } from '@nestjs/common';
import { SETTINGS } from '../config/settings.module.js';
import { type Settings } from '../config/settings.js';
import { ClockModule } from '../common/clock.module.js';
import { EventsModule } from '../subscriptions/events.module.js';
import { EventLog } from './event-log.js';
import { createPino, PINO, PinoLogger } from './pino-logger.js';
import { ShutdownLog } from './shutdown-log.js';

@Module({
  imports: [ClockModule, EventsModule],
  providers: [
    { provide: PINO, inject: [SETTINGS], useFactory: ({ logLevel }: Settings) => createPino(logLevel) },
    PinoLogger,
    EventLog,
    ShutdownLog,
  ],
  exports: [PinoLogger],
})
export class LoggingModule {}
