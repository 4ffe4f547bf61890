import { type ArgumentsHost, Catch, Inject } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiErrorFilter } from '../common/api-error.filter.js';
import { LOCKING_API_OPTIONS, type LockingApiOptions } from './locking-api.module-definition.js';
import { atMost, withWaitProblem } from './wire/wait-problems.js';

/** For requests that may wait: a 400 names a `wait_ms` over `MAX_WAIT_MS`, too. */
@Catch()
export class WaitProblemsFilter extends ApiErrorFilter {
  constructor(
    @Inject(HttpAdapterHost) host: HttpAdapterHost,
    @Inject(LOCKING_API_OPTIONS) private readonly options: LockingApiOptions,
  ) {
    super(host);
  }

  override catch(error: unknown, context: ArgumentsHost): void {
    const { body } = context.switchToHttp().getRequest<{ body?: unknown }>();
    super.catch(withWaitProblem(error, body, atMost(this.options.maxWaitMs)), context);
  }
}
