import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { checkInput } from '../../common/validation/check-input.js';
import { type Class } from '../../common/validation/class.js';
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

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { body } = context.switchToHttp().getRequest<{ body: unknown }>();
    const checked = checkInput(this.dto, body, 'json');
    if (checked.ok) await this.check(checked.value);
    return true;
  }

  /** Throws the refusal of a request that is in order. */
  async check(request: D): Promise<void> {
    const { resource_id: resourceId, session_id: sessionId, node_id: nodeId } = request;
    const ended = sessionId ? !(await this.sessions.isOpen(sessionId, nodeId)) : false;
    if (!this.refuses(this.manager.peek(resourceId) ?? EMPTY_STATE, request, ended)) return;
    const refused = this.refuses(await this.manager.read(resourceId), request, ended);
    if (refused) throw refusal(refused, this.shape);
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
