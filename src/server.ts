import {
  type DynamicModule,
  type INestApplication,
  type NestApplicationOptions,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { SwaggerModule } from '@nestjs/swagger';
import helmet from 'helmet';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { ApiErrorFilter } from './common/api-error.filter.js';
import { PinoLogger } from './logging/pino-logger.js';
import { requestId } from './logging/request-id.js';
import { openApi } from './openapi.js';
import { ServerAdapter } from './server-adapter.js';

/** Quiet until our own logger is there: whoever starts it is told by one message, not by a stack trace. */
const OPTIONS: NestApplicationOptions = { logger: false, abortOnError: false };

/** The application as it is served, not yet listening. */
export async function createServer(root: Type | DynamicModule): Promise<INestApplication> {
  return prepareServer(await NestFactory.create(root, new ServerAdapter(), OPTIONS));
}

/** What makes an application on a `ServerAdapter` the server: everything but its modules. */
export function prepareServer(app: INestApplication): INestApplication {
  app.useLogger(app.get(PinoLogger));
  app.use(requestId);
  app.use(securityHeaders());
  app.useGlobalFilters(new ApiErrorFilter(app.get(HttpAdapterHost)));
  app.enableShutdownHooks();
  SwaggerModule.setup('docs', app, () => openApi(app), { jsonDocumentUrl: 'openapi.json' });
  return app;
}

/** Helmet says the same in every answer: it is asked once, and its headers are set without its dozen of functions. */
function securityHeaders(): (request: unknown, response: ServerResponse, next: () => void) => void {
  const headers = new Map<string, string>();
  const listener = {
    setHeader: (name: string, value: string) => void headers.set(name, value),
    removeHeader: () => undefined,
  };
  helmet({ contentSecurityPolicy: false })({} as IncomingMessage, listener as never, () => undefined);
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
