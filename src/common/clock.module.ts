import { Module } from '@nestjs/common';
import { CLOCK } from './clock.interface.js';
import { SystemClock } from './system-clock.js';

@Module({ providers: [{ provide: CLOCK, useClass: SystemClock }], exports: [CLOCK] })
export class ClockModule {}
