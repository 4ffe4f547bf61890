import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

export function openApi(app: INestApplication): OpenAPIObject {
  const document = new DocumentBuilder()
    .setTitle('Holdfast')
    .setDescription('Makes many nodes do a piece of work once: a distributed lock that knows outcomes.')
    .setVersion('0.1.0')
    .build();
  return SwaggerModule.createDocument(app, document);
}
