import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { StoreHealth } from './store.health.js';

@ApiTags('operating')
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly store: StoreHealth,
  ) {}

  @Get('live')
  @HealthCheck()
  @ApiOperation({ summary: 'Is the process alive?' })
  live() {
    return this.health.check([]);
  }

  @Get('ready')
  @HealthCheck()
  @ApiOperation({ summary: 'Can it take requests?' })
  ready() {
    return this.health.check([() => this.store.check()]);
  }
}
