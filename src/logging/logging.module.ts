import { Module } from '@nestjs/common';
import { pino } from 'pino';
import { SETTINGS } from '../config/settings.module.js';
import { type Settings } from '../config/settings.js';
import { ClockModule } from '../common/clock.module.js';
import { EventsModule } from '../subscriptions/events.module.js';
import { EventLog } from './event-log.js';
import { LogLines } from './log-lines.js';
import { PINO, PinoLogger } from './pino-logger.js';
import { ShutdownLog } from './shutdown-log.js';

@Module({
  imports: [ClockModule, EventsModule],
  providers: [
    { provide: LogLines, useFactory: () => new LogLines() },
    {
      provide: PINO,
      inject: [SETTINGS, LogLines],
      useFactory: ({ logLevel }: Settings, lines: LogLines) => pino({ level: logLevel, base: null }, lines),
    },
    PinoLogger,
    EventLog,
    ShutdownLog,
  ],
  exports: [PinoLogger],
})
export class LoggingModule {}
