import { type Due } from '../locking/deadlines.js';
import { type SessionRecord } from './session-records.js';

/** A session as this process knows it. */
export class Session implements Due {
  /** As last seen. None: a hold or wait names the session, and no record of it was seen. */
  record: SessionRecord | undefined;
  /** This process is ending it, or has tried to and does not know: over a shared store it may yet be found alive. */
  ending = false;
  /** Called when it is gone. */
  readonly onEnd = new Set<() => void>();
  dueAtMs = Infinity;
  dueIndex = -1;

  /** The node and time to live are those of the record, once there is one. */
  constructor(
    readonly id: string,
    private readonly assumed: { readonly nodeId: string; readonly ttlMs: number },
  ) {}

  get nodeId(): string {
    return (this.record ?? this.assumed).nodeId;
  }

  get ttlMs(): number {
    return (this.record ?? this.assumed).ttlMs;
  }

  /** For certain. */
  get isOver(): boolean {
    return this.record ? this.record.ended : this.ending;
  }

  get isOpen(): boolean {
    return this.record !== undefined && !this.record.ended && !this.ending;
  }
}
