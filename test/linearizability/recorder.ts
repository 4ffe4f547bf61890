import { writeFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import {
  type LockInput,
  type LockOutput,
  type Recorded,
  type SessionInput,
  type SessionOutput,
} from './lock-operations.js';
import { readAnswer, wireOf } from './wire.js';

/** Longer than anything that is not a fault takes; what takes longer has an unknown outcome. */
const DEFAULT_TIMEOUT_MS = 5000;

interface Entry {
  readonly url: string;
  readonly operation: Recorded;
}

type OutputOf<I> = I extends SessionInput ? SessionOutput : LockOutput;

/** Asks servers over plain HTTP and writes down what was asked when, and what was answered. */
export class Recorder {
  /** How many operations were answered. */
  answered = 0;
  private readonly agent = new Agent({ pipelining: 1 });
  private readonly entries: Entry[] = [];
  private readonly goneAt = new Map<string, number>();

  constructor(
    readonly seed: number,
    private readonly timeoutMs = DEFAULT_TIMEOUT_MS,
  ) {}

  /** What happened so far; an operation under way shows once it is over. */
  get history(): readonly Recorded[] {
    return this.entries.map(({ operation }) => operation);
  }

  /**
   * Resolves with what was answered, or undefined where nobody knows: no answer in time, a connection that broke, a 5xx.
   * What found nobody listening did not happen, and is not in the history.
   */
  async ask<I extends LockInput | SessionInput>(
    client: string,
    url: string,
    input: I,
  ): Promise<OutputOf<I> | undefined> {
    const call = performance.now();
    const reply = await this.send(url, input);
    if (reply === 'never sent') return undefined;
    const output = reply && readAnswer(input, reply.status, reply.body);
    if (output) this.answered++;
    const goneAt = this.goneAt.get(url) ?? -1;
    const returned = output ? performance.now() : goneAt > call ? goneAt : undefined;
    this.entries.push({ url, operation: { client, call, return: returned, input, output } });
    return output as OutputOf<I> | undefined;
  }

  /** The process there is gone: what it had not done by now it will never do. Not for one whose store may still apply it. */
  gone(url: string): void {
    const now = performance.now();
    this.goneAt.set(url, now);
    for (const [index, { url: asked, operation }] of this.entries.entries()) {
      if (asked !== url || operation.return !== undefined) continue;
      this.entries[index] = { url, operation: { ...operation, return: now } };
    }
  }

  /** One JSON line with the seed, then one per operation. */
  dump(path: string): void {
    const lines = [{ seed: this.seed }, ...this.history].map((line) => JSON.stringify(line));
    writeFileSync(path, `${lines.join('\n')}\n`);
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async send(url: string, input: LockInput | SessionInput) {
    const { method, path, body } = wireOf(input);
    try {
      const response = await request(`${url}${path}`, {
        method,
        dispatcher: this.agent,
        signal: AbortSignal.timeout(this.timeoutMs),
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const json = (await response.body.json()) as Record<string, unknown>;
      return response.statusCode >= 500 ? undefined : { status: response.statusCode, body: json };
    } catch (error) {
      return (error as { code?: string }).code === 'ECONNREFUSED' ? ('never sent' as const) : undefined;
    }
  }
}

/** What a dump holds. */
export function readDump(text: string): { seed: number; history: Recorded[] } {
  const [head, ...history] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  return { seed: (head as { seed: number }).seed, history: history as Recorded[] };
}
