import { Body, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiController } from '../common/api.decorator.js';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { NodeDto, ReferenceDto, ResourceDto } from './dto/reference.dto.js';
import { ReferencesService } from './references.service.js';

@ApiTags('references')
@ApiController('refcounts')
export class ReferencesController {
  constructor(private readonly references: ReferencesService) {}

  @Get()
  @ApiOperation({ summary: 'Who uses a resource' })
  get(@Query() { resource_id }: ResourceDto) {
    return this.references.get(resource_id);
  }

  @Post('add')
  @HttpCode(200)
  @ApiOperation({ summary: 'Count a node that has the resource already' })
  add(@Body() request: ReferenceDto) {
    return this.references.add(request);
  }

  @Post('release')
  @HttpCode(200)
  @ApiOperation({ summary: 'A node no longer uses a resource' })
  release(@Body() request: ReferenceDto) {
    return this.references.release(request);
  }

  @Post('release-node')
  @HttpCode(200)
  @ApiOperation({ summary: 'A node no longer uses anything' })
  releaseNode(@Body() { node_id }: NodeDto) {
    return this.references.releaseNode(node_id);
  }
}
