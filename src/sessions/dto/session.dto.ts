import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { IsNodeId, IsSessionId, IsWhole } from '../../common/validation/decorators.js';

/** Shorter ones would expire between two renewals over a slow network. */
const MIN_TTL_MS = 100;
const MAX_TTL_MS = 86_400_000;

const SESSION_ID = 'LOf1wRrgfdj-rYIJkjgn5A';

export class CreateSessionDto {
  @ApiProperty({ example: 'node-1' })
  @IsNodeId()
  readonly node_id!: string;

  @ApiPropertyOptional({ description: 'Ends unless renewed within this time. Default: SESSION_TTL_MS.' })
  @IsOptional()
  @IsWhole(MIN_TTL_MS, MAX_TTL_MS)
  readonly ttl_ms?: number;
}

export class SessionParamDto {
  @ApiProperty({ example: SESSION_ID, description: 'The session, as it was answered when it was opened.' })
  @IsSessionId()
  readonly id!: string;
}

export class SessionStreamDto {
  @ApiPropertyOptional({
    description:
      'Leave out what the session knows from its own answers (its queueings, grants and successes) and hand-overs to others.',
  })
  @IsOptional()
  @IsBoolean()
  readonly brief?: boolean;
}

export class SessionDto {
  @ApiProperty({ example: SESSION_ID })
  readonly session_id!: string;

  @ApiProperty({ example: 'node-1' })
  readonly node_id!: string;

  @ApiProperty({
    example: 10_000,
    description: 'Count what it holds as yours only for this time after sending a renewal.',
  })
  readonly ttl_ms!: number;

  @ApiProperty({
    example: 1,
    description: 'Whoever has many requests at once is served fastest by so many batches sent side by side.',
  })
  readonly parallel_batches!: number;
}

export class SessionRenewedDto {
  @ApiProperty({ example: true })
  readonly renewed!: boolean;

  @ApiProperty({ example: SESSION_ID })
  readonly session_id!: string;

  @ApiProperty({
    example: 10_000,
    description: 'It is open for this time again, from when the renewal was sent.',
  })
  readonly ttl_ms!: number;
}

export class SessionEndedDto {
  @ApiProperty({ description: 'Also of a session that is not there: the first answer may have been lost.' })
  readonly ended!: boolean;

  @ApiProperty({ example: SESSION_ID })
  readonly session_id!: string;
}
