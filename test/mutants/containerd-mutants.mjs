const WRITING = 'src/containerd/writing-flight.ts';
const FLIGHT = 'src/containerd/flight.ts';
const FLIGHTS = 'src/containerd/flights.ts';
const COUNTING = 'src/containerd/node/counting.ts';
const PROMPTLY = 'src/containerd/node/promptly.ts';
const BLOBS = 'src/containerd/node/node-blobs.ts';

const COMMIT_SPEC = 'test/containerd/commit.spec.ts';
const COUNTING_SPEC = 'src/containerd/node/counting.spec.ts';
const BLOBS_SPEC = 'src/containerd/node/node-blobs.spec.ts';
const FLIGHT_SPEC = 'src/containerd/flight.spec.ts';

/** Whom containerd's one write transaction may be kept waiting for. */
export const containerdMutants = [
  {
    name: 'a blob lands with its last byte, not with its commit',
    file: WRITING,
    find: '    await this.landIfWhole();\n',
    replace: '',
    tests: [COMMIT_SPEC],
  },
  {
    name: 'what an earlier try has left whole lands when it is opened',
    file: FLIGHTS,
    find: '      await writing?.landIfWhole();\n',
    replace: '',
    tests: [COMMIT_SPEC],
  },
  {
    name: 'a commit of something else is refused before the server is told',
    file: WRITING,
    find: '      this.verify(commitment);\n',
    replace: '',
    tests: [COMMIT_SPEC],
  },
  {
    name: 'a commit waits for the server for a second',
    file: PROMPTLY,
    find: 'PROMPT_MS = 1000',
    replace: 'PROMPT_MS = 60_000',
    tests: [COUNTING_SPEC],
  },
  {
    name: 'a commit that was not counted in time fails where that is wanted',
    file: COUNTING,
    find: "error instanceof NotInTimeError && whenUnreachable === 'proceed'",
    replace: 'error instanceof NotInTimeError',
    tests: [COUNTING_SPEC],
  },
  {
    name: 'a commit waits for no delete',
    file: COUNTING,
    find: '!isLate && !isBeingDeleted(error) && ',
    replace: '!isLate && ',
    tests: [COUNTING_SPEC],
  },
  {
    name: 'what was marked in haste is counted later',
    file: BLOBS,
    find: 'if (!(await this.counting.countPromptly(digest))) this.untold.add(digest);',
    replace: 'await this.counting.countPromptly(digest);',
    tests: [COMMIT_SPEC],
  },
  {
    name: 'what is written while the server is told of all is told when it is committed',
    file: BLOBS,
    find: 'return void this.untold.add(digest);',
    replace: 'return;',
    tests: [BLOBS_SPEC],
  },
  {
    name: 'a committed blob is answered for although a delete of it waits for the server',
    file: FLIGHT,
    find: 'if (!this.isSettled) await unclaimed;',
    replace: 'await unclaimed;',
    tests: [FLIGHT_SPEC],
  },
  {
    name: 'a delete that is not waited for goes on only when containerd is told that the blob is not there',
    file: BLOBS,
    find: ' || this.records.used(digest)) return given;',
    replace: ') return given;',
    tests: [BLOBS_SPEC],
  },
  {
    name: 'an abort does not wait until the server knows of it',
    file: FLIGHTS,
    find: 'if (stream) await isPrompt(this.clock, stream.close());',
    replace: 'if (stream) await stream.close();',
    tests: [COMMIT_SPEC],
  },
];
