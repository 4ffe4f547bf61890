import { Get, Query, Req, Res } from '@nestjs/common';
import { ApiController } from '../common/api.decorator.js';
import { ApiHeader, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { SubscribeDto } from './dto/subscribe.dto.js';
import { EverythingService } from './everything.service.js';
import { SubscriptionsService } from './subscriptions.service.js';

@ApiTags('events')
@ApiProduces('text/event-stream')
@ApiController()
export class SubscriptionsController {
  constructor(
    private readonly subscriptions: SubscriptionsService,
    private readonly everything: EverythingService,
  ) {}

  @Get(['lock/subscribe', 'subscribe'])
  @ApiOperation({ summary: 'Hear how the work on a key ends (server-sent events)' })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'Of the last event seen: what is newer is told as the stream opens.',
  })
  subscribe(@Query() query: SubscribeDto, @Req() request: IncomingMessage, @Res() response: ServerResponse) {
    return this.subscriptions.open(query, request, response);
  }

  @Get('events')
  @ApiOperation({ summary: 'Hear everything (server-sent events)' })
  events(@Res() response: ServerResponse) {
    return this.everything.open(response);
  }
}
