import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsOptional } from 'class-validator';
import { IsLeaseMs, IsSubtype, IsText, IsWaitMs } from '../../common/validation/decorators.js';
import { MAX_TICKET_LENGTH } from '../../core/limits.js';
import { AskerDto } from './key.dto.js';

export class LockRequestDto extends AskerDto {
  @ApiPropertyOptional({ description: 'The lane to wait in (LANES).' })
  @IsOptional()
  @IsSubtype()
  readonly subtype?: string;

  @ApiPropertyOptional({
    description: 'Ends the hold unless it is renewed; 0 = never. Default: DEFAULT_LEASE_MS.',
  })
  @IsOptional()
  @IsLeaseMs()
  readonly lease_ms?: number;

  @ApiPropertyOptional({
    description: 'Long poll: answer when granted, skipped or refused, or after this time.',
  })
  @IsOptional()
  @IsWaitMs()
  readonly wait_ms?: number;

  @ApiPropertyOptional({ enum: ['stay', 'leave'], description: 'Whether the wait outlives `wait_ms`.' })
  @IsOptional()
  @IsIn(['stay', 'leave'])
  readonly on_timeout?: 'stay' | 'leave';

  @ApiPropertyOptional({ description: 'Of an earlier queued answer: a success since then is told.' })
  @IsOptional()
  @IsText(0, MAX_TICKET_LENGTH)
  readonly ticket?: string;

  @ApiPropertyOptional({
    description: 'A pull that looked and did not find the bytes: references do not skip it.',
  })
  @IsOptional()
  @IsBoolean()
  readonly absent?: boolean;
}
