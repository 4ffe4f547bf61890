import {
  type Hold,
  HoldLostError,
  LockClient,
  type LockRequest,
  SystemClock,
  WaitTimeoutError,
} from '../../client/index.js';
import { ChildGroup, type Ending } from './child-group.js';
import { Guardian } from './guardian.js';
import { LockWait } from './lock-wait.js';
import { Signals } from './signals.js';
import { soon } from './soon.js';

export interface CommandRunOptions {
  readonly serverUrls: readonly string[];
  readonly nodeId: string;
  readonly sessionTtlMs: number;
  readonly killAfterMs: number;
  readonly waitMs?: number | undefined;
  /** Where what the command prints goes. */
  readonly stdout: 'inherit' | 2;
  /** Something worth a word while it waits. */
  readonly say: (what: string) => void;
}

/** Makes the client report a failure, in these words. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

interface Ran {
  readonly token: number;
  readonly ending: Ending;
}

export type CommandResult =
  | ({ readonly status: 'executed' | 'failed' } & Ran)
  | ({ readonly status: 'lost'; readonly why: string } & Ran)
  | {
      readonly status: 'skipped';
      readonly nodeId?: string;
      readonly completedAt?: string;
      readonly message: string;
    };

/** One command under one lock. */
export class CommandRun {
  private readonly signals = new Signals();
  private readonly clock = new SystemClock();
  private readonly client: LockClient;
  private readonly wait: LockWait;
  private ran: Ran | undefined;

  constructor(
    private readonly options: CommandRunOptions,
    private readonly request: LockRequest,
    private readonly command: readonly string[],
  ) {
    const { serverUrls, nodeId, sessionTtlMs, killAfterMs } = options;
    const { clock } = this;
    this.client = new LockClient({ serverUrls, nodeId, sessionTtlMs, stopWithinMs: killAfterMs, clock });
    this.wait = new LockWait(this.client, request, clock, options.say);
  }

  /** Under which the command has succeeded, whatever became of the report. */
  get successToken(): number | undefined {
    return this.ran?.ending.exitCode === 0 ? this.ran.token : undefined;
  }

  /** Rejects when the command was not started, and when it succeeded and that could not be reported. */
  async result(): Promise<CommandResult> {
    const { client, signals, options } = this;
    try {
      const result = await client.runOnce(this.request, (hold) => this.work(hold), {
        signal: signals.interruption,
        waitMs: options.waitMs,
      });
      return result.status === 'executed' ? { status: 'executed', ...this.ran! } : await this.skipped(result);
    } catch (error) {
      if (error instanceof WaitTimeoutError)
        throw await this.wait.notGrantedWithin(options.waitMs ?? 0, error.cause);
      return this.afterError(error);
    } finally {
      this.wait.over();
      signals.stop();
      await client.close();
    }
  }

  private async work(hold: Hold): Promise<void> {
    this.wait.over();
    const { request, options, signals } = this;
    const environment = {
      HOLDFAST_TOKEN: String(hold.token),
      HOLDFAST_TYPE: request.type,
      HOLDFAST_RESOURCE: request.resourceId,
    };
    const child = new ChildGroup(this.command, environment, options.stdout);
    signals.started(child);
    const ending = await this.untilEnded(child, hold);
    signals.ended();
    this.ran = { token: hold.token, ending };
    if (ending.error !== undefined) throw new CommandFailed(ending.error);
  }

  /** Stops it when the hold is lost, or this process dies. */
  private async untilEnded(child: ChildGroup, hold: Hold): Promise<Ending> {
    const { killAfterMs, sessionTtlMs } = this.options;
    const guardian = child.pid === undefined ? undefined : new Guardian(child.pid, killAfterMs);
    const timer = setInterval(() => this.look(hold), sessionTtlMs / 3);
    let stopped: Promise<void> | undefined;
    const stop = () => {
      guardian?.begin();
      stopped = child.stop(killAfterMs);
    };
    if (hold.signal.aborted) stop();
    hold.signal.addEventListener('abort', stop, { once: true });
    const ending = await child.ended;
    hold.signal.removeEventListener('abort', stop);
    clearInterval(timer);
    await stopped;
    guardian?.dismiss();
    return ending;
  }

  /** A hold that was taken by force is noticed when its renewal is refused; that aborts its signal. */
  private look(hold: Hold): void {
    this.client.renew(hold).catch(() => undefined);
  }

  private afterError(error: unknown): CommandResult {
    const { ran } = this;
    if (!ran) throw error;
    if (error instanceof HoldLostError) return { status: 'lost', why: error.why, ...ran };
    if (error instanceof CommandFailed) return { status: 'failed', ...ran };
    throw error;
  }

  /** The client knows who did it if it waited for them. A pull that others use is done by the first of them. */
  private async skipped(told: {
    readonly doneBy?: { readonly nodeId: string; readonly completedAt?: string };
    readonly message?: string;
  }): Promise<CommandResult> {
    const { request, client, clock } = this;
    const { message = '', doneBy } = told;
    if (doneBy) return { status: 'skipped', message, ...doneBy };
    const first = request.type === 'pull' ? await this.firstUser() : undefined;
    if (first) return { status: 'skipped', message, ...first };
    const status = await soon(clock, client.status(request));
    const completedAt = status?.completedAt;
    return { status: 'skipped', message, ...(completedAt !== undefined && { completedAt }) };
  }

  private async firstUser(): Promise<{ nodeId: string; completedAt?: string } | undefined> {
    const users = await soon(this.clock, this.client.refs.get(this.request.resourceId));
    const [first] = (users?.nodes ?? []).toSorted((a, b) => (a.since ?? '~').localeCompare(b.since ?? '~'));
    return first && { nodeId: first.nodeId, ...(first.since !== undefined && { completedAt: first.since }) };
  }
}
