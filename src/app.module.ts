import { Module } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { HoldfastModule } from './holdfast.module.js';

@Module({ imports: [ConfigModule.forRoot(), HoldfastModule.forRoot()] })
export class AppModule {}
