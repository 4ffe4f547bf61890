import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { IsNodeId, IsSessionId } from '../../common/validation/decorators.js';

/** Shorter ones would expire between two renewals over a slow network. */
const MIN_TTL_MS = 100;
const MAX_TTL_MS = 86_400_000;

export class CreateSessionDto {
  @ApiProperty({ example: 'node-1' })
  @IsNodeId()
  readonly node_id!: string;

  @ApiPropertyOptional({ description: 'Ends unless renewed within this time. Default: SESSION_TTL_MS.' })
  @IsOptional()
  @IsInt()
  @Min(MIN_TTL_MS)
  @Max(MAX_TTL_MS)
  readonly ttl_ms?: number;
}

export class SessionParamDto {
  @ApiProperty()
  @IsSessionId()
  readonly id!: string;
}

export class SessionDto {
  @ApiProperty()
  readonly session_id!: string;

  @ApiProperty()
  readonly node_id!: string;

  @ApiProperty({ description: 'Count what it holds as yours only for this time after sending a renewal.' })
  readonly ttl_ms!: number;
}

export class SessionRenewedDto {
  @ApiProperty()
  readonly renewed!: boolean;

  @ApiProperty()
  readonly session_id!: string;

  @ApiProperty()
  readonly ttl_ms!: number;
}

export class SessionEndedDto {
  @ApiProperty({ description: 'Also of a session that is not there: the first answer may have been lost.' })
  readonly ended!: boolean;

  @ApiProperty()
  readonly session_id!: string;
}
