/**
 * Removes one rule after the other from a copy of the source and shows that the tests notice.
 *
 *     npm run mutants                  all of them
 *     npm run mutants -- references    those whose name or file contains the text
 *
 * A mutant is {name, file, find, replace, tests?}; see mutants.mjs. The work tree is never touched.
 */
import { setMaxListeners } from 'node:events';
import { CopyOfTheSource } from './copy-of-the-source.mjs';
import { mutants } from './mutants.mjs';

/** Two at a time: each runs vitest, which takes a core for itself. */
const WORKERS = 2;

const filter = process.argv.slice(2).join(' ').toLowerCase();
const chosen = mutants.filter(({ name, file }) => `${name} ${file}`.toLowerCase().includes(filter));
const stop = new AbortController();
setMaxListeners(0, stop.signal);
process.once('SIGINT', () => stop.abort());

const copies = await Promise.all(Array.from({ length: WORKERS }, () => CopyOfTheSource.make(stop.signal)));
let survived = 0;
let done = 0;
try {
  await everyTestPassesWithoutMutants(copies[0]);
  const waiting = [...chosen];
  await Promise.all(copies.map((copy) => work(copy, waiting)));
} finally {
  await Promise.all(copies.map((copy) => copy.remove()));
}
console.log(`${done - survived} passed, ${survived} failed`);
process.exitCode = survived > 0 || done === 0 || stop.signal.aborted ? 1 : 0;

/** Otherwise every mutant would seem caught. */
async function everyTestPassesWithoutMutants(copy) {
  const tests = [...new Set(chosen.flatMap((mutant) => mutant.tests))];
  const result = await copy.test(tests);
  if (result.verdict !== 'SURVIVED') {
    throw new Error(`the tests fail without any mutant, too: ${result.detail}`);
  }
}

async function work(copy, waiting) {
  for (let mutant = waiting.shift(); mutant && !stop.signal.aborted; mutant = waiting.shift()) {
    const startedAt = performance.now();
    const { verdict, detail } = await copy.testWith(mutant);
    if (stop.signal.aborted) return;
    if (verdict !== 'caught') survived++;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const progress = `${++done}/${chosen.length}`.padStart(8);
    console.log(
      `${progress}  ${verdict.padEnd(8)}  ${seconds.padStart(5)} s  ${mutant.file}: ${mutant.name}`,
    );
    console.log(`${' '.repeat(29)}${detail}`);
  }
}
