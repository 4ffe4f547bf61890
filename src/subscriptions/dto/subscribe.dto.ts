import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { IsNodeId, IsSessionId } from '../../common/validation/decorators.js';
import { KeyDto } from '../../locking/dto/key.dto.js';

export class SubscribeDto extends KeyDto {
  @ApiPropertyOptional({
    description: 'Who listens: is then also told what concerns it alone, and gets heartbeats.',
  })
  @IsOptional()
  @IsNodeId()
  readonly node_id?: string;

  @ApiPropertyOptional({ description: 'The session in which `node_id` asks, if it has one.' })
  @IsOptional()
  @IsSessionId()
  readonly session_id?: string;

  @ApiPropertyOptional({ description: 'Ties the hold or wait of `node_id` on this key to the stream.' })
  @IsOptional()
  @IsBoolean()
  readonly bind?: boolean;
}
