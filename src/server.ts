import { type INestApplication, type Type, type DynamicModule } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import helmet from 'helmet';
import { ApiErrorFilter } from './common/api-error.filter.js';
import { FastExpressAdapter } from './common/express/fast-express.adapter.js';
import { PinoLogger } from './logging/pino-logger.js';

/** The application as it is served, not yet listening. */
export async function createServer(root: Type | DynamicModule): Promise<INestApplication> {
  const app = await NestFactory.create(root, new FastExpressAdapter(), {
    bufferLogs: true,
    abortOnError: false,
  });
  app.useLogger(app.get(PinoLogger));
  app.use(helmet({ contentSecurityPolicy: false }));
  app.useGlobalFilters(new ApiErrorFilter(app.get(HttpAdapterHost)));
  app.enableShutdownHooks();
  SwaggerModule.setup('docs', app, () => openApi(app), { jsonDocumentUrl: 'openapi.json' });
  return app;
}

export function openApi(app: INestApplication): OpenAPIObject {
  const document = new DocumentBuilder()
    .setTitle('Holdfast')
    .setDescription('Makes many nodes do a piece of work once: a distributed lock that knows outcomes.')
    .setVersion('0.1.0')
    .build();
  return SwaggerModule.createDocument(app, document);
}
