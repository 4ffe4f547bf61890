import { Body, Get, HttpCode, Post, Query, Res, UseFilters, UseGuards } from '@nestjs/common';
import { ApiController } from '../common/api.decorator.js';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { type ServerResponse } from 'node:http';
import { Batches } from './batches.js';
import { LockRequestDto } from './dto/lock-request.dto.js';
import {
  BatchRequestDto,
  CancelRequestDto,
  ForceReleaseDto,
  ListLocksDto,
  StatusRequestDto,
} from './dto/other-requests.dto.js';
import { RenewRequestDto, UnlockRequestDto } from './dto/unlock-request.dto.js';
import { ReleaseGuard, RenewGuard } from './guards/holder.guard.js';
import { LockList } from './lock-list.js';
import { LockingService } from './locking.service.js';
import { WaitProblemsFilter } from './wait-problems.filter.js';

@ApiTags('locks')
@ApiController()
export class LockingController {
  constructor(
    private readonly locking: LockingService,
    private readonly batches: Batches,
    private readonly list: LockList,
  ) {}

  @Post('lock')
  @HttpCode(200)
  @UseFilters(WaitProblemsFilter)
  @ApiOperation({ summary: 'Ask for a lock: granted, skipped, queued or refused' })
  lock(@Body() request: LockRequestDto, @Res({ passthrough: true }) response: ServerResponse) {
    return this.locking.lock(request, response);
  }

  @Post('unlock')
  @HttpCode(200)
  @UseGuards(ReleaseGuard)
  @ApiOperation({ summary: 'Release a lock with the outcome of the work' })
  unlock(@Body() request: UnlockRequestDto) {
    return this.locking.unlock(request);
  }

  @Post('lock/renew')
  @HttpCode(200)
  @UseGuards(RenewGuard)
  @ApiOperation({ summary: 'Extend the lease of a hold' })
  renew(@Body() request: RenewRequestDto) {
    return this.locking.renew(request);
  }

  @Post('lock/cancel')
  @HttpCode(200)
  @ApiOperation({ summary: 'Leave the queue' })
  cancel(@Body() request: CancelRequestDto) {
    return this.locking.cancel(request);
  }

  @Get('lock/status')
  @ApiOperation({ summary: 'How a key stands' })
  status(@Query() request: StatusRequestDto) {
    return this.locking.status(request);
  }

  @Post('lock/status')
  @HttpCode(200)
  @ApiOperation({ summary: 'How a key stands' })
  postStatus(@Body() request: StatusRequestDto) {
    return this.locking.status(request);
  }

  @Post('lock/batch')
  @HttpCode(200)
  @ApiOperation({ summary: 'Many lock requests in one call, each with its own status' })
  lockBatch(@Body() { requests }: BatchRequestDto) {
    return this.batches.lock(requests);
  }

  @Post('unlock/batch')
  @HttpCode(200)
  @ApiOperation({ summary: 'Many releases in one call, each with its own status' })
  unlockBatch(@Body() { requests }: BatchRequestDto) {
    return this.batches.unlock(requests);
  }

  @Post('lock/renew/batch')
  @HttpCode(200)
  @ApiOperation({ summary: 'Many renewals in one call, each with its own status' })
  renewBatch(@Body() { requests }: BatchRequestDto) {
    return this.batches.renew(requests);
  }

  @Get('locks')
  @ApiOperation({ summary: 'What is held and awaited' })
  locks(@Query() query: ListLocksDto) {
    return this.list.page(query);
  }

  @Post('locks/release')
  @HttpCode(200)
  @ApiOperation({ summary: 'Take a lock away from its holder by force; counts as a failure' })
  forceRelease(@Body() request: ForceReleaseDto) {
    return this.locking.forceRelease(request);
  }
}
