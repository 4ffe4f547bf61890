import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type SweepOptions, type SweepResult } from '../../src/content/index.js';
import { compiled } from '../support/compiled.js';
import {
  type ChurnOptions,
  type ChurnReport,
  type Command,
  type Item,
  type NodeOptions,
  type Outcomes,
  type Reply,
} from './programs/messages.js';

/** A node in a process of its own, with its client, and its store over the shared directory. */
export class NodeProcess {
  /** What it was downloading, as far as it has told. */
  readonly inFlight = new Set<string>();
  private readonly pending = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  private calls = 0;

  private constructor(
    private readonly options: NodeOptions,
    private readonly child: ChildProcess,
  ) {
    child.on('message', (reply: Reply) => this.receive(reply));
    child.once('exit', () => {
      for (const { reject } of this.pending.values()) reject(new Error(`${this.nodeId} has ended`));
    });
  }

  get nodeId(): string {
    return this.options.nodeId;
  }

  static async start(options: NodeOptions): Promise<NodeProcess> {
    const program = compiled('test/content/programs/node.ts');
    const child = fork(program, [JSON.stringify(options)], { serialization: 'json' });
    await once(child, 'message');
    return new NodeProcess(options, child);
  }

  /** Each blob into the store, or found there; its bytes are read and hashed. `atOnce`: how many at a time. */
  pull(items: readonly Item[], atOnce = items.length): Promise<Outcomes> {
    return this.call({ do: 'pull', items, atOnce });
  }

  release(items: readonly Item[]): Promise<void> {
    return this.call({ do: 'release', items });
  }

  delete(items: readonly Item[]): Promise<Outcomes> {
    return this.call({ do: 'delete', items });
  }

  sweep(options: SweepOptions): Promise<SweepResult> {
    return this.call({ do: 'sweep', options });
  }

  churn(options: ChurnOptions): Promise<ChurnReport> {
    return this.call({ do: 'churn', options });
  }

  /** At once and without a word; resolves when all it has said before has arrived. */
  async kill(): Promise<void> {
    const gone = Promise.all([once(this.child, 'exit'), once(this.child, 'disconnect')]);
    this.child.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }

  private call<T>(command: Command): Promise<T> {
    const id = ++this.calls;
    return new Promise<T>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.child.send({ id, command });
    });
  }

  private receive(reply: Reply): void {
    if ('stopping' in reply) setTimeout(() => this.child.kill('SIGCONT'), 1.5 * this.options.sessionTtlMs);
    else if ('begin' in reply) this.inFlight.add(reply.begin);
    else if ('end' in reply) this.inFlight.delete(reply.end);
    else if ('id' in reply) {
      const call = this.pending.get(reply.id);
      this.pending.delete(reply.id);
      if (reply.error === undefined) call?.resolve(reply.value as never);
      else call?.reject(new Error(`${this.nodeId}: ${reply.error}`));
    }
  }
}
