import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
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
  async ready() {
    try {
      return await this.health.check([() => this.store.check()]);
    } catch (error) {
      throw error instanceof ServiceUnavailableException ? notReady(error) : error;
    }
  }
}

/** Terminus's report, as an error of ours. */
function notReady(error: ServiceUnavailableException): ServiceUnavailableException {
  const report = error.getResponse() as HealthCheckResult;
  const message = `Holdfast cannot take requests now: ${report.details['store']?.['message']}`;
  return new ServiceUnavailableException({ code: 'NOT_READY', message, ...report });
}
