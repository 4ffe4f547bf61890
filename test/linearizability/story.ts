import {
  type Lock,
  type LockInput,
  type LockOperation,
  type LockOutput,
  type StatusOutput,
  type Unlock,
} from './lock-operations.js';

type Told = Partial<Pick<LockOperation, 'call' | 'return'>>;

/** A history told step by step: each step comes after the one before, unless it says otherwise. */
export class Story {
  readonly history: LockOperation[] = [];

  constructor(private readonly type = 'build') {}

  lock(node: string, output?: LockOutput, more: Partial<Lock> & Told = {}): this {
    return this.add(node, { do: 'lock', ...this.on(node), ...withoutTimes(more) }, output, more);
  }

  unlock(
    node: string,
    outcome: 'success' | 'failure' | 'fatal',
    output?: LockOutput,
    more: Partial<Unlock> & Told = {},
  ): this {
    const success = outcome === 'success';
    const said = { success, error: success ? '' : 'no', fatal: outcome === 'fatal' };
    return this.add(node, { do: 'unlock', ...this.on(node), ...said, ...withoutTimes(more) }, output, more);
  }

  status(node: string, output: Partial<StatusOutput>): this {
    const nothing = {
      acquired: false,
      completed: false,
      success: false,
      holder: undefined,
      token: undefined,
    };
    const none = { is: 'status', ...nothing, position: 0, waiting: 0, references: 0 } as const;
    return this.add(node, { do: 'status', ...this.on(node) }, { ...none, ...output });
  }

  add(client: string, input: LockInput, output?: LockOutput, times: Told = {}): this {
    const call = times.call ?? this.history.length * 10;
    const end = times.return ?? (output && call + 5);
    this.history.push({ client, call, return: end, input, output });
    return this;
  }

  private on(node: string) {
    return { resource: 'r', type: this.type, node };
  }
}

function withoutTimes<T extends Told>(more: T): Omit<T, 'call' | 'return'> {
  const { call: _, return: __, ...rest } = more;
  return rest;
}

export const granted = (token: number, references = 0): LockOutput => ({ is: 'acquired', token, references });
export const queued = (ticket: string, position = 1): LockOutput => ({
  is: 'queued',
  ticket,
  position,
  references: 0,
});
export const skip = (references = 0): LockOutput => ({ is: 'skip', references });
export const released = (next?: string): LockOutput => ({ is: 'released', next });
export const refused = (code: string): LockOutput => ({ is: 'refused', code });
export const counted = (count: number): LockOutput => ({ is: 'counted', count });
