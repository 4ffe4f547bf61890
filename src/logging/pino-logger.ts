import { Inject, Injectable, type LoggerService, type OnApplicationShutdown } from '@nestjs/common';
import { type Logger, pino } from 'pino';

export const PINO = Symbol('PINO');

/** Nest's own messages as structured lines, with ours. */
@Injectable()
export class PinoLogger implements LoggerService, OnApplicationShutdown {
  constructor(@Inject(PINO) private readonly pino: Logger) {}

  log(message: unknown, context?: string): void {
    this.pino.info({ context }, String(message));
  }

  warn(message: unknown, context?: string): void {
    this.pino.warn({ context }, String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    if (message instanceof Error) this.pino.error({ context, err: message }, message.message);
    else this.pino.error({ context, stack: rest.length > 1 ? rest[0] : undefined }, String(message));
  }

  debug(message: unknown, context?: string): void {
    this.pino.debug({ context }, String(message));
  }

  verbose(message: unknown, context?: string): void {
    this.pino.trace({ context }, String(message));
  }

  onApplicationShutdown(): void {
    this.pino.flush();
  }
}

/** Lines are written after the answer, some at a time: a crash may lose the last of them. */
export function createPino(level: string): Logger {
  return pino({ level, base: null }, pino.destination({ sync: false, minLength: 4096 }));
}
