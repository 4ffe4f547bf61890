import { ApiProperty } from '@nestjs/swagger';
import { IsNodeId, IsResourceId } from '../../common/validation/decorators.js';

export class ResourceDto {
  @ApiProperty({ example: 'sha256:4f4e…' })
  @IsResourceId()
  readonly resource_id!: string;
}

export class ReferenceDto extends ResourceDto {
  @ApiProperty({ example: 'node-1' })
  @IsNodeId()
  readonly node_id!: string;
}

export class NodeDto {
  @ApiProperty({ example: 'node-1' })
  @IsNodeId()
  readonly node_id!: string;
}
