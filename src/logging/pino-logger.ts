import { Inject, Injectable, type LoggerService, type OnApplicationShutdown } from '@nestjs/common';
import { type Logger } from 'pino';

export const PINO = Symbol('PINO');

/** Parts of Nest that say at every start what they have found: news only to somebody who looks for a mistake in it. */
const CHATTER: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'RoutesResolver',
  'RouterExplorer',
]);

type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Nest's own messages as structured lines, with ours. An object as message gives the line its fields. */
@Injectable()
export class PinoLogger implements LoggerService, OnApplicationShutdown {
  constructor(@Inject(PINO) private readonly pino: Logger) {}

  log(message: unknown, context?: string): void {
    this.write(CHATTER.has(context) ? 'debug' : 'info', message, context);
  }

  warn(message: unknown, context?: string): void {
    this.write('warn', message, context);
  }

  /** That it cannot listen is told once, by whoever starts it, in words. */
  error(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    this.write(
      CHATTER.has(context) ? 'debug' : 'error',
      message,
      context,
      rest.length > 1 ? rest[0] : undefined,
    );
  }

  fatal(message: unknown, context?: string): void {
    this.write('fatal', message, context);
  }

  debug(message: unknown, context?: string): void {
    this.write('debug', message, context);
  }

  verbose(message: unknown, context?: string): void {
    this.write('trace', message, context);
  }

  onApplicationShutdown(): Promise<void> {
    return new Promise((resolve) => this.pino.flush(() => resolve()));
  }

  private write(level: Level, message: unknown, context: unknown, stack?: unknown): void {
    if (message instanceof Error) this.pino[level]({ context, err: message }, message.message);
    else if (typeof message === 'object') this.pino[level]({ context, ...message });
    else this.pino[level]({ context, stack }, String(message));
  }
}
