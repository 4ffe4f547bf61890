import {
  type DynamicModule,
  type INestApplication,
  type NestApplicationOptions,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { SwaggerModule } from '@nestjs/swagger';
import { ApiErrorFilter } from './common/api-error.filter.js';
import { PinoLogger } from './logging/pino-logger.js';
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
  app.useGlobalFilters(new ApiErrorFilter(app.get(HttpAdapterHost)));
  app.enableShutdownHooks();
  const docs = () =>
    SwaggerModule.setup('docs', app, () => openApi(app), {
      jsonDocumentUrl: 'openapi.json',
      customSiteTitle: 'Holdfast',
    });
  app.get(HttpAdapterHost<ServerAdapter>).httpAdapter.routeLast(docs);
  return app;
}
