import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options?: { type: 'minor' }) => void;

const [ROUNDS, TURNS] = [20, 5000];

/**
 * How many bytes more are used for each turn of this work, after many that undo what they do, when only what is young has been collected
 * meanwhile. What was there before them is old, and must not keep what comes later alive.
 */
export function bytesLeftByEach(work: (turn: number) => void): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  for (let turn = 0; turn < TURNS; turn++) work(turn);
  for (let n = 0; n < 3; n++) collect();
  const before = process.memoryUsage().heapUsed;
  for (let round = 1; round <= ROUNDS; round++) {
    for (let turn = 0; turn < TURNS; turn++) work(round * TURNS + turn);
    collect({ type: 'minor' });
  }
  return (process.memoryUsage().heapUsed - before) / (ROUNDS * TURNS);
}
