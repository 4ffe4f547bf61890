import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { type Logger } from 'pino';
import { PINO } from './pino-logger.js';

/** Without it the log of a server that was told to stop ends like that of one that was killed. */
@Injectable()
export class ShutdownLog implements BeforeApplicationShutdown {
  constructor(@Inject(PINO) private readonly pino: Logger) {}

  beforeApplicationShutdown(signal?: string): void {
    this.pino.info(
      { context: 'Server', signal },
      'stopping: answers under way are finished, streams are cut',
    );
  }
}
