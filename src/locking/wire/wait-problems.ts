import { BadRequestException } from '@nestjs/common';
import { type BadRequest } from '../../common/validation/problems.js';
import { type LockRequestDto } from '../dto/lock-request.dto.js';

/** What is wrong with a `wait_ms` that is a number of milliseconds, if anything. */
export type WaitRule = (waitMs: number) => string | undefined;

export function atMost(maxWaitMs: number): WaitRule {
  return (waitMs) => (waitMs > maxWaitMs ? `must not be more than ${maxWaitMs}` : undefined);
}

export const notInBatch: WaitRule = () => 'must not be given in a batch: it is answered at once';

/**
 * Names `wait_ms` beside the fields that are wrong by themselves: what checks those knows neither settings nor batches, and the
 * request goes no further.
 */
export function withWaitProblem(error: unknown, input: unknown, rule: WaitRule): unknown {
  if (!(error instanceof BadRequestException)) return error;
  const { fields, message, code } = error.getResponse() as Partial<BadRequest>;
  const { wait_ms: waitMs } = (input ?? {}) as Partial<LockRequestDto>;
  const problem = typeof waitMs === 'number' ? rule(waitMs) : undefined;
  if (!fields || fields['wait_ms'] || problem === undefined) return error;
  const told = `wait_ms ${problem}`;
  const all = { code, message: `${message}; ${told}`, fields: { ...fields, wait_ms: [told] } };
  return new BadRequestException(all);
}
