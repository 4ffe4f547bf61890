import { Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type Observable, Subject } from 'rxjs';
import { type ResourceState } from '../core/state.js';
import { statusOf } from '../core/status.js';
import { whenKnown } from '../common/when-known.js';
import { type AskerDto, type KeyDto } from './dto/key.dto.js';
import { type LockRequestDto } from './dto/lock-request.dto.js';
import {
  type CancelRequestDto,
  type ForceReleaseDto,
  type StatusRequestDto,
} from './dto/other-requests.dto.js';
import { type RenewRequestDto, type UnlockRequestDto } from './dto/unlock-request.dto.js';
import { LockManager } from './lock-manager.js';
import { LOCKING_API_OPTIONS, type LockingApiOptions } from './locking-api.module-definition.js';
import { LongPolls } from './long-polls.js';
import { SESSION_DIRECTORY, type SessionDirectory } from './session-directory.interface.js';
import { type WaitResult } from './wait-end.js';
import { lockAnswer, lostAnswer, renewAnswer, statusAnswer, unlockAnswer } from './wire/answers.js';
import { type KeyName } from './wire/key-name.js';
import { refusal } from './wire/refusals.js';
import { acquireOf, askerOf, releaseOf, renewOf, ticketMoment } from './wire/requests.js';
import { atMost, notInBatch } from './wire/wait-problems.js';

/** The endpoints on one key: requests in, commands to the manager, answers out. Refusals are thrown. */
@Injectable()
export class LockingService {
  private readonly skips = new Subject<string>();
  /** The type of every request that is skipped as it asks; those who waited are in the events. */
  readonly skips$: Observable<string> = this.skips;

  constructor(
    private readonly manager: LockManager,
    private readonly longPolls: LongPolls,
    @Inject(SESSION_DIRECTORY) private readonly sessions: SessionDirectory,
    @Inject(LOCKING_API_OPTIONS) private readonly options: LockingApiOptions,
  ) {}

  lock(request: LockRequestDto, response: ServerResponse) {
    const { wait_ms: waitMs } = request;
    if (typeof waitMs !== 'number') return this.answerNow(request);
    const problem = atMost(this.options.maxWaitMs)(waitMs);
    if (problem) return this.answerNow(request, problem);
    const leave = request.on_timeout === 'leave';
    return waitMs > 0 || leave ? this.answerLater(request, waitMs, leave, response) : this.answerNow(request);
  }

  /** For a batch: answered at once. */
  lockNow(request: LockRequestDto) {
    const { wait_ms: waitMs } = request;
    return this.answerNow(request, typeof waitMs === 'number' ? notInBatch(waitMs) : undefined);
  }

  unlock(request: UnlockRequestDto) {
    return whenKnown(this.sessionEnded(request), (ended) => this.release(request, ended));
  }

  async renew(request: RenewRequestDto) {
    const renew = renewOf(request, await this.sessionEnded(request));
    const result = await this.manager.execute(request.resource_id, renew);
    if (result.kind === 'refused') throw refusal(result, { renewed: false });
    return renewAnswer(result);
  }

  async cancel(request: CancelRequestDto) {
    const { type, resource_id: resourceId } = request;
    const ticket = ticketMoment(request);
    const asker = askerOf(request);
    const error = 'cancelled';
    const { changed } = await this.manager.execute(resourceId, {
      kind: 'withdraw',
      type,
      asker,
      ticket,
      error,
    });
    return { cancelled: changed, message: changed ? 'left the queue' : 'was not queued' };
  }

  async status(request: StatusRequestDto) {
    const { type, resource_id: resourceId, node_id: nodeId } = request;
    const asker =
      nodeId === undefined || nodeId === null ? undefined : askerOf({ ...request, node_id: nodeId });
    const ticket = asker && ticketMoment({ ...request, node_id: asker.nodeId });
    if (asker) await this.manager.execute(resourceId, { kind: 'claim', type, asker });
    const state = await this.manager.read(resourceId);
    return statusAnswer(statusOf(state, { type, asker, ticket }, this.options.policy));
  }

  /** The token is filled in before the first try, so that a try whose answer was lost is not repeated on the next holder. */
  async forceRelease(request: ForceReleaseDto) {
    const { type, resource_id: resourceId, reason } = request;
    const token = request.token ?? holdOf(await this.manager.read(resourceId), type)?.token ?? 0;
    const result = await this.manager.execute(resourceId, { kind: 'force-release', type, token, reason });
    if (result.kind === 'refused') throw refusal(result, { released: false }, NOTHING_TAKEN);
    return unlockAnswer(result);
  }

  private async release(request: UnlockRequestDto, sessionEnded: boolean) {
    const result = await this.manager.execute(request.resource_id, releaseOf(request, sessionEnded));
    if (result.kind === 'refused') throw refusal(result, { released: false });
    return unlockAnswer(result);
  }

  private async answerLater(
    request: LockRequestDto,
    waitMs: number,
    leaveOnTimeout: boolean,
    response: ServerResponse,
  ) {
    const acquire = acquireOf(request, await this.sessionEnded(request), this.manager.instance);
    const { resource_id: resourceId } = request;
    const poll = { resourceId, acquire, waitMs, leaveOnTimeout, response };
    return this.lockAnswer(request, await this.longPolls.ask(poll));
  }

  /** Also with what is wrong with `wait_ms`, so that a bad ticket is named in the same answer. */
  private answerNow(request: LockRequestDto, waitProblem?: string) {
    return whenKnown(this.sessionEnded(request), (ended) => this.acquire(request, ended, waitProblem));
  }

  private async acquire(request: LockRequestDto, sessionEnded: boolean, waitProblem: string | undefined) {
    const others = waitProblem === undefined ? undefined : { wait_ms: waitProblem };
    const acquire = acquireOf(request, sessionEnded, this.manager.instance, others);
    this.longPolls.supersede(request.resource_id, acquire.type, acquire.asker);
    return this.lockAnswer(request, await this.manager.execute(request.resource_id, acquire));
  }

  private lockAnswer(request: LockRequestDto, result: WaitResult) {
    if (result.kind === 'refused') throw refusal(result, { acquired: false, skip: false });
    if (result.kind === 'lost') return this.lostAnswer(request);
    if (result.kind === 'skipped' && !result.wasDismissed) this.skips.next(request.type);
    return lockAnswer(result, nameOf(request), request.node_id, this.options.policy);
  }

  private async lostAnswer(request: LockRequestDto) {
    if (await this.sessionEnded(request)) {
      const ended = { kind: 'refused', code: 'SESSION_NOT_FOUND', error: 'the session has ended' } as const;
      throw refusal(ended, { acquired: false, skip: false });
    }
    return lostAnswer(this.options.policy, await this.manager.referenceCount(request.resource_id));
  }

  /** A request without a session has none that could have ended. */
  private sessionEnded({ session_id: sessionId, node_id: nodeId }: AskerDto): boolean | Promise<boolean> {
    if (sessionId === undefined || sessionId === null) return false;
    return whenKnown(this.sessions.isOpen(sessionId, nodeId), (isOpen) => !isOpen);
  }
}

/** To an operator: the advice to holders is not for it. */
const NOTHING_TAKEN = 'Nothing was taken away; GET /locks shows who holds what now.';

function nameOf({ type, resource_id: resourceId }: KeyDto): KeyName {
  return { type, resourceId };
}

function holdOf(state: ResourceState, type: string) {
  return state.keys.find((key) => key.type === type)?.hold;
}
