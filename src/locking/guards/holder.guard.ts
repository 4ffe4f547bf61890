import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { checkInput } from '../../common/validation/check-input.js';
import { type Class } from '../../common/validation/class.js';
import { whenKnown } from '../../common/when-known.js';
import { addressHold, judgeRelease } from '../../core/release.js';
import { type Refused } from '../../core/results.js';
import { EMPTY_STATE, keyOf, type ResourceState } from '../../core/state.js';
import { type AskerDto } from '../dto/key.dto.js';
import { RenewRequestDto, UnlockRequestDto } from '../dto/unlock-request.dto.js';
import { LockManager } from '../lock-manager.js';
import { SESSION_DIRECTORY, type SessionDirectory } from '../session-directory.interface.js';
import { refusal } from '../wire/refusals.js';
import { releaseOf, renewOf } from '../wire/requests.js';

/**
 * Turns away who does not hold the lock, by the core's own rule, read-only. What was last seen may be out of date, so a
 * refusal is checked against the store; the core judges again when the command is applied. A request that is
 * not in order passes: the pipe behind says what is wrong with it.
 */
@Injectable()
abstract class HolderGuard<D extends AskerDto> implements CanActivate {
  protected abstract readonly dto: Class<D>;
  protected abstract readonly shape: object;

  constructor(
    @Inject(LockManager) private readonly manager: LockManager,
    @Inject(SESSION_DIRECTORY) private readonly sessions: SessionDirectory,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<{ body: unknown }>();
    const checked = checkInput(this.dto, request.body, 'json');
    if (!checked.ok) return true;
    request.body = checked.value;
    return this.check(checked.value);
  }

  /** Throws the refusal of a request that is in order, or rejects with it. */
  check(request: D): true | Promise<true> {
    const { session_id: sessionId, node_id: nodeId } = request;
    const open = sessionId ? this.sessions.isOpen(sessionId, nodeId) : true;
    return whenKnown(open, (isOpen) => this.judge(request, !isOpen));
  }

  private judge(request: D, sessionEnded: boolean): true | Promise<true> {
    const seen = this.manager.peek(request.resource_id) ?? EMPTY_STATE;
    return this.refuses(seen, request, sessionEnded) ? this.confirm(request, sessionEnded) : true;
  }

  private async confirm(request: D, sessionEnded: boolean): Promise<true> {
    const refused = this.refuses(await this.manager.read(request.resource_id), request, sessionEnded);
    if (refused) throw refusal(refused, this.shape);
    return true;
  }

  protected abstract refuses(state: ResourceState, request: D, sessionEnded: boolean): Refused | undefined;
}

@Injectable()
export class ReleaseGuard extends HolderGuard<UnlockRequestDto> {
  protected readonly dto = UnlockRequestDto;
  protected readonly shape = { released: false };

  protected refuses(state: ResourceState, request: UnlockRequestDto, ended: boolean): Refused | undefined {
    const judged = judgeRelease(state, releaseOf(request, ended));
    return judged.kind === 'refused' ? judged : undefined;
  }
}

@Injectable()
export class RenewGuard extends HolderGuard<RenewRequestDto> {
  protected readonly dto = RenewRequestDto;
  protected readonly shape = { renewed: false };

  protected refuses(state: ResourceState, request: RenewRequestDto, ended: boolean): Refused | undefined {
    const addressed = addressHold(keyOf(state, request.type), renewOf(request, ended));
    return addressed.kind === 'refused' ? addressed : undefined;
  }
}
