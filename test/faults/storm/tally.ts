import { type Recorded } from '../../linearizability/lock-operations.js';
import { type Fault, type FaultKind } from './faults.js';

/** What a storm did, counted from what was recorded. */
export class Tally {
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly operations: number;
  readonly unknown: number;
  readonly handOvers: number;

  constructor(
    history: readonly Recorded[],
    faults: readonly Fault[],
    /** How long anything was broken. */
    readonly brokenMs: number,
  ) {
    const count = (wanted: FaultKind) => faults.filter(({ kind }) => kind === wanted).length;
    this.faults = { kill: count('kill'), stop: count('stop'), cut: count('cut') };
    this.operations = history.filter(({ output }) => output !== undefined).length;
    this.unknown = history.length - this.operations;
    this.handOvers = handOversIn(history);
  }

  toString(): string {
    const { kill, stop, cut } = this.faults;
    return (
      `${this.operations} operations, ${this.unknown} unknown, ${this.handOvers} hand-overs, ` +
      `${kill} kills, ${stop} stops, ${cut} cuts, ${(this.brokenMs / 1000).toFixed(0)} s of faults`
    );
  }
}

/** How often somebody was told "wait", and then that it holds what it waited for. */
export function handOversIn(history: readonly Recorded[]): number {
  const waiting = new Set<string>();
  let handOvers = 0;
  for (const { client, input, output } of history.toSorted((a, b) => a.call - b.call)) {
    if (!output || !('type' in input)) continue;
    const wait = `${client} ${input.session} ${input.type}:${input.resource}`;
    if (output.is === 'queued') waiting.add(wait);
    const holds = output.is === 'acquired' || (output.is === 'status' && output.acquired);
    if (holds && waiting.delete(wait)) handOvers++;
    if (output.is === 'skip' || output.is === 'refused' || output.is === 'cancelled') waiting.delete(wait);
  }
  return handOvers;
}
