import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type ServerResponse } from 'node:http';
import { describeError, INTERNAL_ERROR } from './api-error.js';

/** Seconds after which a 429 or 503 may have passed: engines restart and queues move in about this time. */
const RETRY_AFTER_SECONDS = 1;

/** What an app that embeds Holdfast may call its requests by; the server's own answers know it themselves. */
const REQUEST_ID_HEADER = 'x-request-id';

/** Every error leaves as `{code, message, …}`, with `Retry-After` where trying again helps. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(error: unknown, context: ArgumentsHost): void {
    const response = context.switchToHttp().getResponse<ServerResponse & { requestId?: string }>();
    const described = describeError(error);
    if (!described) {
      const request_id = response.requestId ?? response.getHeader(REQUEST_ID_HEADER);
      this.logger.error({ request_id, err: error });
    }
    if (response.headersSent) return void response.destroy();
    const { status, body } = described ?? INTERNAL_ERROR;
    if (status === 429 || status === 503) response.setHeader('retry-after', String(RETRY_AFTER_SECONDS));
    this.host.httpAdapter.reply(response, body, status);
  }
}
