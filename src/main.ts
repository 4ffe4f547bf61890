import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { SETTINGS } from './config/settings.module.js';
import { type Settings } from './config/settings.js';

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
const { port, host } = app.get<Settings>(SETTINGS);
await app.listen(port, host);
