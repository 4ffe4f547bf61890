import { BadRequestException, Injectable } from '@nestjs/common';
import { describeError, INTERNAL_ERROR } from '../common/api-error.js';
import { checkInput } from '../common/validation/check-input.js';
import { type Class } from '../common/validation/class.js';
import { whenKnown } from '../common/when-known.js';
import { LockRequestDto } from './dto/lock-request.dto.js';
import { RenewRequestDto, UnlockRequestDto } from './dto/unlock-request.dto.js';
import { ReleaseGuard, RenewGuard } from './guards/holder.guard.js';
import { LockingService } from './locking.service.js';
import { notInBatch, type WaitRule, withWaitProblem } from './wire/wait-problems.js';

export interface BatchItem {
  readonly status: number;
}

/** Many requests in one call, each with the answer it would have had alone. */
@Injectable()
export class Batches {
  constructor(
    private readonly locking: LockingService,
    private readonly releases: ReleaseGuard,
    private readonly renewals: RenewGuard,
  ) {}

  lock(requests: readonly unknown[]): Promise<{ results: BatchItem[] }> {
    return all(requests, LockRequestDto, (request) => this.locking.lockNow(request), notInBatch);
  }

  unlock(requests: readonly unknown[]): Promise<{ results: BatchItem[] }> {
    return all(requests, UnlockRequestDto, (request) =>
      whenKnown(this.releases.check(request), () => this.locking.unlock(request)),
    );
  }

  renew(requests: readonly unknown[]): Promise<{ results: BatchItem[] }> {
    return all(requests, RenewRequestDto, (request) =>
      whenKnown(this.renewals.check(request), () => this.locking.renew(request)),
    );
  }
}

async function all<D extends object>(
  requests: readonly unknown[],
  dto: Class<D>,
  call: (request: D) => Promise<object>,
  waitRule?: WaitRule,
): Promise<{ results: BatchItem[] }> {
  return { results: await Promise.all(requests.map((request) => one(request, dto, call, waitRule))) };
}

async function one<D extends object>(
  request: unknown,
  dto: Class<D>,
  call: (request: D) => Promise<object>,
  waitRule: WaitRule | undefined,
): Promise<BatchItem> {
  try {
    const checked = checkInput(dto, request, 'json');
    if (!checked.ok) throw new BadRequestException(checked.error);
    const answer: object & { status?: number } = await call(checked.value);
    // Nobody else has it, and copying it into another object takes longer than making it.
    answer.status = 200;
    return answer as BatchItem;
  } catch (error) {
    const told = waitRule ? withWaitProblem(error, request, waitRule) : error;
    const { status, body } = describeError(told) ?? INTERNAL_ERROR;
    return { status, ...body };
  }
}
