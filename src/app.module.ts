import { Module } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { HoldfastModule } from './holdfast.module.js';
import { LoggingModule } from './logging/logging.module.js';
import { RootController } from './root.controller.js';

/** The server: all of Holdfast, configured by the environment, with its log on standard output. */
@Module({
  imports: [ConfigModule.forRoot(), HoldfastModule.forRoot(), LoggingModule],
  controllers: [RootController],
})
export class AppModule {}
