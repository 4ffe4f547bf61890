import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { MAX_NODE_ID_LENGTH, MAX_RESOURCE_ID_LENGTH, TYPE_PATTERN } from '../../core/limits.js';
import { IsNodeId, IsOperationType, IsResourceId, IsSessionId } from '../../common/validation/decorators.js';

/** The key a request is about. */
export class KeyDto {
  @ApiProperty({
    example: 'pull',
    pattern: TYPE_PATTERN.source,
    description: 'The operation: `pull`, `update`, `delete` or a name of your own.',
  })
  @IsOperationType()
  readonly type!: string;

  @ApiProperty({
    example: 'sha256:4f4e…',
    minLength: 1,
    maxLength: MAX_RESOURCE_ID_LENGTH,
    description: 'The resource, for example a layer digest.',
  })
  @IsResourceId()
  readonly resource_id!: string;
}

/** A key and who asks about it. */
export class AskerDto extends KeyDto {
  @ApiProperty({ example: 'node-1', minLength: 1, maxLength: MAX_NODE_ID_LENGTH, description: 'Who asks.' })
  @IsNodeId()
  readonly node_id!: string;

  @ApiPropertyOptional({ description: 'A session of this node; two sessions of one node are two askers.' })
  @IsOptional()
  @IsSessionId()
  readonly session_id?: string;
}
