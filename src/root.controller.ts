import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';

/** For somebody who has only the address. Part of the server alone: in an app that embeds Holdfast this place is taken. */
@ApiExcludeController()
@Controller()
export class RootController {
  @Get()
  get() {
    return {
      name: 'holdfast',
      docs: '/docs',
      openapi: '/openapi.json',
      health: '/health/ready',
      metrics: '/metrics',
    };
  }
}
