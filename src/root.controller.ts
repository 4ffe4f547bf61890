import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { VERSION } from './version.js';

/** For somebody who has only the address. Part of the server alone: in an app that embeds Holdfast this place is taken. */
@ApiExcludeController()
@Controller()
export class RootController {
  @Get()
  get() {
    return {
      name: 'holdfast',
      version: VERSION,
      docs: '/docs',
      openapi: '/openapi.json',
      health: '/health/ready',
      live: '/health/live',
      metrics: '/metrics',
    };
  }
}
