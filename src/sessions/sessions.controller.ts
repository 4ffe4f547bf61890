import { Body, Delete, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiController } from '../common/api.decorator.js';
import { ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { type ServerResponse } from 'node:http';
import { CreateSessionDto, SessionParamDto, SessionStreamDto } from './dto/session.dto.js';
import { SessionStreams } from './session-streams.js';
import { SessionsService } from './sessions.service.js';

@ApiTags('sessions')
@ApiController('sessions')
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly streams: SessionStreams,
  ) {}

  @Post()
  @HttpCode(200)
  @ApiOperation({ summary: 'Open a session: one keep-alive for everything a process holds' })
  create(@Body() { node_id, ttl_ms }: CreateSessionDto) {
    return this.sessions.create(node_id, ttl_ms);
  }

  @Post(':id/renew')
  @HttpCode(200)
  @ApiOperation({ summary: 'Keep a session' })
  renew(@Param() { id }: SessionParamDto) {
    return this.sessions.renew(id);
  }

  @Get(':id/events')
  @ApiProduces('text/event-stream')
  @ApiOperation({ summary: 'Hear everything about what the session holds or waits for (server-sent events)' })
  events(
    @Param() { id }: SessionParamDto,
    @Query() { brief = false }: SessionStreamDto,
    @Res() response: ServerResponse,
  ) {
    return this.streams.open(id, response, brief);
  }

  @Delete(':id')
  @ApiOperation({ summary: 'End a session: its holds fail, its waits are withdrawn' })
  end(@Param() { id }: SessionParamDto) {
    return this.sessions.end(id);
  }
}
