import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** What the endpoints on locks answer, for the documentation; `wire/answers.ts` makes them. */

const COUNT = {
  type: Number,
  nullable: true,
  description: 'Nodes that use the resource; null in client mode.',
};

export class LockAnswerDto {
  @ApiProperty({ description: 'The asker holds the lock: do the work, then unlock with its outcome.' })
  readonly acquired!: boolean;

  @ApiProperty({
    example: false,
    description: 'Another node has done the work: do nothing. Neither: queued.',
  })
  readonly skip!: boolean;

  @ApiProperty()
  readonly message!: string;

  @ApiProperty({ enum: ['operation', 'resource'], description: 'What excludes what (LOCK_ISOLATION).' })
  readonly isolation!: string;

  @ApiPropertyOptional({ description: 'The fencing token of the hold.' })
  readonly token?: number;

  @ApiPropertyOptional({ description: 'The hold ends unless renewed within this time; 0 = never.' })
  readonly lease_ms?: number;

  @ApiPropertyOptional({ description: 'The place in the queue, from 1.' })
  readonly position?: number;

  @ApiPropertyOptional({ description: 'To be sent when asking again: a success since then is told.' })
  readonly ticket?: string;

  @ApiProperty(COUNT)
  readonly reference_count!: number | null;
}

export class UnlockAnswerDto {
  @ApiProperty()
  readonly released!: boolean;

  @ApiProperty()
  readonly message!: string;

  @ApiPropertyOptional({ description: 'The node that the lock was handed to.' })
  readonly next_holder?: string;
}

export class RenewAnswerDto {
  @ApiProperty()
  readonly renewed!: boolean;

  @ApiProperty()
  readonly token!: number;

  @ApiProperty({ description: 'Counted from this renewal; 0 = never ends.' })
  readonly lease_ms!: number;
}

export class CancelAnswerDto {
  @ApiProperty({ description: 'Whether there was anything to leave.' })
  readonly cancelled!: boolean;

  @ApiProperty()
  readonly message!: string;
}

export class HolderDto {
  @ApiProperty()
  readonly node_id!: string;

  @ApiPropertyOptional()
  readonly subtype?: string;

  @ApiProperty({ format: 'date-time' })
  readonly requested_at!: string;

  @ApiProperty({ format: 'date-time' })
  readonly acquired_at!: string;

  @ApiProperty({ description: 'The fencing token of the hold.' })
  readonly token!: number;
}

export class StatusAnswerDto {
  @ApiProperty({ description: 'The asker holds it.' })
  readonly acquired!: boolean;

  @ApiProperty({ description: 'The work the asker means is over; `success` and `error` say how.' })
  readonly completed!: boolean;

  @ApiProperty()
  readonly success!: boolean;

  @ApiPropertyOptional()
  readonly error?: string;

  @ApiPropertyOptional({ format: 'date-time' })
  readonly completed_at?: string;

  @ApiProperty()
  readonly held!: boolean;

  @ApiPropertyOptional({ type: HolderDto })
  readonly holder?: HolderDto;

  @ApiPropertyOptional({ description: 'The asker’s place in the queue, from 1.' })
  readonly position?: number;

  @ApiProperty()
  readonly queue_length!: number;

  @ApiProperty(COUNT)
  readonly reference_count!: number | null;
}

export class BatchAnswerDto {
  @ApiProperty({
    type: 'array',
    items: { type: 'object', properties: { status: { type: 'integer' } }, required: ['status'] },
    description: 'In the order of the requests: the answer each would have had alone, with its `status`.',
  })
  readonly results!: object[];
}

export class ListedHolderDto extends HolderDto {
  @ApiPropertyOptional()
  readonly session_id?: string;

  @ApiProperty({ description: '0 = never ends.' })
  readonly lease_ms!: number;

  @ApiProperty({ description: 'false: handed over, and its new holder has not asked for it yet.' })
  readonly claimed!: boolean;
}

export class ListedWaiterDto {
  @ApiProperty()
  readonly node_id!: string;

  @ApiPropertyOptional()
  readonly session_id?: string;

  @ApiPropertyOptional()
  readonly subtype?: string;

  @ApiProperty({ format: 'date-time' })
  readonly requested_at!: string;
}

export class ListedLockDto {
  @ApiProperty()
  readonly type!: string;

  @ApiProperty()
  readonly resource_id!: string;

  @ApiProperty()
  readonly held!: boolean;

  @ApiPropertyOptional({ type: ListedHolderDto })
  readonly holder?: ListedHolderDto;

  @ApiProperty()
  readonly queue_length!: number;

  @ApiProperty({ type: [ListedWaiterDto], description: 'The first of them, in the order of service.' })
  readonly waiters!: ListedWaiterDto[];
}

export class LockListDto {
  @ApiProperty({ type: [ListedLockDto], description: 'Ordered by resource.' })
  readonly locks!: ListedLockDto[];

  @ApiPropertyOptional({ description: 'There is more: `after` of the next page.' })
  readonly next?: string;
}

export class ReferencingNodeDto {
  @ApiProperty()
  readonly node_id!: string;

  @ApiPropertyOptional({ format: 'date-time' })
  readonly since?: string;
}

export class ReferencesDto {
  @ApiProperty()
  readonly resource_id!: string;

  @ApiProperty({ description: 'Always the number of `nodes`.' })
  readonly count!: number;

  @ApiProperty({ type: [ReferencingNodeDto], description: 'In the order in which they came.' })
  readonly nodes!: ReferencingNodeDto[];
}

export class ReferenceAnswerDto {
  @ApiProperty()
  readonly resource_id!: string;

  @ApiProperty()
  readonly node_id!: string;

  @ApiProperty({ description: 'Nodes that use the resource now.' })
  readonly count!: number;
}

export class ReleasedNodeDto {
  @ApiProperty()
  readonly node_id!: string;

  @ApiProperty({ description: 'References that the node had.' })
  readonly released!: number;
}

export class ErrorDto {
  @ApiProperty({ example: 'STORE_UNAVAILABLE', description: 'For programs.' })
  readonly code!: string;

  @ApiProperty({ description: 'For people: what is wrong and what can be done.' })
  readonly message!: string;
}

export class BadRequestDto extends ErrorDto {
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Every field that is wrong, and what is wrong with it.',
  })
  readonly fields?: Record<string, string[]>;
}

export class RefusalDto extends ErrorDto {
  @ApiProperty({ example: 'in use by 2 nodes' })
  readonly error!: string;

  @ApiPropertyOptional({ description: 'false, from /lock.' })
  readonly acquired?: boolean;

  @ApiPropertyOptional({ description: 'false, from /lock.' })
  readonly skip?: boolean;

  @ApiPropertyOptional({ description: 'false, from /unlock and /locks/release.' })
  readonly released?: boolean;

  @ApiPropertyOptional({ description: 'false, from /lock/renew.' })
  readonly renewed?: boolean;
}
