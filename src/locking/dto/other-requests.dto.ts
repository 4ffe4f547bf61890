import { ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional } from 'class-validator';
import {
  IsNodeId,
  IsOperationType,
  IsSessionId,
  IsText,
  IsToken,
  IsWhole,
} from '../../common/validation/decorators.js';
import { MAX_TICKET_LENGTH } from '../../core/limits.js';
import { AskerDto, KeyDto } from './key.dto.js';
import { LockRequestDto } from './lock-request.dto.js';
import { UnlockRequestDto } from './unlock-request.dto.js';

/** A whole image in one call. */
const MAX_BATCH = 256;

/** A page that a person or a table can take; more is paged. */
const MAX_PAGE = 1000;

export class CancelRequestDto extends AskerDto {
  @ApiPropertyOptional({ description: 'Only the wait with this ticket.' })
  @IsOptional()
  @IsText(0, MAX_TICKET_LENGTH)
  readonly ticket?: string;
}

export class StatusRequestDto extends KeyDto {
  @ApiPropertyOptional({ description: 'Who asks; asking also claims a lock that was handed over.' })
  @IsOptional()
  @IsNodeId()
  readonly node_id?: string;

  @ApiPropertyOptional({ description: 'The session in which `node_id` asks, if it has one.' })
  @IsOptional()
  @IsSessionId()
  readonly session_id?: string;

  @ApiPropertyOptional({
    description: 'Of an earlier queued answer: only what is newer counts as completed.',
  })
  @IsOptional()
  @IsText(0, MAX_TICKET_LENGTH)
  readonly ticket?: string;
}

const REQUESTS = { message: `$property must be a list of 1 to ${MAX_BATCH} requests` };

export class BatchRequestDto {
  @ApiProperty({
    type: 'array',
    items: { oneOf: [LockRequestDto, UnlockRequestDto].map((dto) => ({ $ref: getSchemaPath(dto) })) },
    minItems: 1,
    maxItems: MAX_BATCH,
    description: 'Each as it would be sent alone to /lock or /unlock, without `wait_ms`.',
  })
  @IsArray(REQUESTS)
  @ArrayMinSize(1, REQUESTS)
  @ArrayMaxSize(MAX_BATCH, REQUESTS)
  readonly requests!: unknown[];
}

export class ForceReleaseDto extends KeyDto {
  @ApiProperty({
    description: 'Why; it is told to the holder that loses it and to whoever follows /events, and logged.',
  })
  @IsText(1, 1000)
  readonly reason!: string;

  @ApiPropertyOptional({ description: 'Only the hold with this token.' })
  @IsOptional()
  @IsToken()
  readonly token?: number;
}

export class ListLocksDto {
  @ApiPropertyOptional({ description: 'Only this type.' })
  @IsOptional()
  @IsOperationType()
  readonly type?: string;

  @ApiPropertyOptional({ description: 'Only resources whose id begins like this.' })
  @IsOptional()
  @IsText(0, 512)
  readonly resource_id?: string;

  @ApiPropertyOptional({ description: 'Only keys that this node holds or waits for.' })
  @IsOptional()
  @IsNodeId()
  readonly node_id?: string;

  @ApiPropertyOptional({ minimum: 1, maximum: MAX_PAGE, default: 100, description: 'Resources in a page.' })
  @IsOptional()
  @IsWhole(1, MAX_PAGE)
  readonly limit?: number;

  @ApiPropertyOptional({ description: '`next` of the page before.' })
  @IsOptional()
  @IsText(0, 600)
  readonly after?: string;
}
