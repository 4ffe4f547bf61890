// How fast the pure core decides: a lock and its release on a key of its own, and a release that finds waiters.
import { readSettings } from '../dist/config/settings.js';
import { settle } from '../dist/core/settle.js';
import { EMPTY_STATE } from '../dist/core/state.js';
import { transition } from '../dist/core/transition.js';
import { table, thousands } from './support.mjs';

const policy = readSettings({});
const outcome = { success: false, error: 'x', fatal: false };
let revision = 1;

function apply(state, command) {
  return settle(transition(state, command, 1, policy).state, ++revision);
}

const acquire = (nodeId) => ({ kind: 'acquire', type: 'pull', asker: { nodeId } });
const release = (nodeId) => ({ kind: 'release', type: 'pull', asker: { nodeId }, ...outcome });

function measure(prepare, cycle, transitions) {
  let state = prepare();
  for (let i = 0; i < 5000; i++) state = cycle(state, i);
  const begin = performance.now();
  let cycles = 0;
  while (performance.now() - begin < 1000)
    for (let i = 0; i < 100; i++, cycles++) state = cycle(state, cycles);
  return (cycles * transitions * 1000) / (performance.now() - begin);
}

const alone = measure(
  () => EMPTY_STATE,
  (state) => apply(apply(state, acquire('a')), release('a')),
  2,
);

/** The holder fails, the next is handed the lock, the old holder queues again: the queue keeps its length. */
function rotating(length) {
  const prepare = () => {
    let state = EMPTY_STATE;
    for (let i = 0; i < length; i++) state = apply(state, acquire(`node-${i}`));
    return state;
  };
  const cycle = (state) => {
    const { nodeId } = state.keys[0].hold;
    return apply(apply(state, release(nodeId)), acquire(nodeId));
  };
  return measure(prepare, cycle, 2);
}

const queues = [2, 100, 1000, 10_000].map((length) => [length, rotating(length)]);
table(
  'Core: transitions a second (one process, settled one by one)',
  ['case', 'transitions/s', 'of a key of its own'],
  [
    ['lock + release of a key of its own', thousands(alone), '1.00'],
    ...queues.map(([length, speed]) => [
      `fail + queue again among ${thousands(length)}`,
      thousands(speed),
      (speed / alone).toFixed(2),
    ]),
  ],
);
