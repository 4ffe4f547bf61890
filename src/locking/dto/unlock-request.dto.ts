import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { IsLeaseMs, IsToken } from '../../common/validation/decorators.js';
import { AskerDto } from './key.dto.js';

export class UnlockRequestDto extends AskerDto {
  @ApiPropertyOptional({ description: 'The outcome. Default: whether `error` is empty.' })
  @IsOptional()
  @IsBoolean()
  readonly success?: boolean;

  @ApiPropertyOptional({ description: 'Why it failed; cut at 4 KB.' })
  @IsOptional()
  @IsString()
  readonly error?: string;

  @ApiPropertyOptional({
    description: 'Nobody can succeed (a 404, a bad digest): the waiters are sent away too.',
  })
  @IsOptional()
  @IsBoolean()
  readonly fatal?: boolean;

  @ApiPropertyOptional({ description: 'The fencing token of the hold that is meant.' })
  @IsOptional()
  @IsToken()
  readonly token?: number;
}

export class RenewRequestDto extends AskerDto {
  @ApiPropertyOptional({ description: 'The fencing token of the hold that is meant.' })
  @IsOptional()
  @IsToken()
  readonly token?: number;

  @ApiPropertyOptional({ description: 'The new lease. Default: the one it has.' })
  @IsOptional()
  @IsLeaseMs()
  readonly lease_ms?: number;
}
