const SCRIPT = 'src/stores/redis/scripts/commit.lua';
const CALL = 'src/stores/redis/commit-call.ts';
const COMMITS = 'src/stores/redis/partition-commits.ts';
const WATCH = 'src/stores/redis/redis-watch.ts';
const READER = 'src/stores/redis/redis-feed-reader.ts';
const REST = 'src/stores/redis/reader-rest.ts';
const FAULTS = 'test/stores/redis/redis-faults.spec.ts';
const CONTRACT = 'test/stores/redis/redis-state-store.spec.ts';
const OWN_SPEC = 'test/stores/redis/redis-own-commits.spec.ts';
const COMMITS_SPEC = 'src/stores/redis/partition-commits.spec.ts';
const WATCH_SPEC = 'src/stores/redis/redis-watch.spec.ts';
const REST_SPEC = 'src/stores/redis/reader-rest.spec.ts';

/** What Redis is told, and what its answer says. */
const commits = [
  {
    name: 'what was read counts once the replicas have it',
    file: 'src/stores/redis/redis-replicas.ts',
    find: 'if (wait === 0) return read;',
    replace: 'if (wait >= 0) return read;',
    tests: ['test/stores/redis/redis-state.spec.ts', 'test/e2e/http-engine-down.spec.ts'],
  },
  {
    name: 'nothing that no replica has is shown',
    file: READER,
    find: 'if (feeds)',
    replace: 'if (!feeds)',
    tests: [FAULTS],
  },
  {
    name: 'a database that is refused is not replaced by another',
    file: 'src/stores/redis/redis-connection.ts',
    find: 'this.isElsewhere ||= isAboutDatabase(error);',
    replace: '',
    tests: [FAULTS],
  },
  {
    name: 'what was shown counts as seen',
    file: WATCH,
    find: 'this.partition.newest = Math.max(this.partition.newest, revision);',
    replace: '',
    tests: ['test/stores/redis/redis-history.spec.ts'],
  },
  {
    name: 'a key that is expected at a revision is at that one',
    file: SCRIPT,
    find: 'else holds = item and find(item, expected, 1, true) == 1 end',
    replace: 'end',
    tests: [CONTRACT],
  },
  {
    name: 'a key that is expected to be absent is',
    file: SCRIPT,
    find: 'holds = not item',
    replace: 'holds = true',
    tests: [CONTRACT],
  },
  {
    name: 'a commit whose last expectation does not hold is not made in part',
    file: SCRIPT,
    find: 'while count > kept do',
    replace: 'while false do',
    tests: [OWN_SPEC, CONTRACT],
  },
  {
    name: 'what a commit puts later belongs to it',
    file: COMMITS,
    find: 'n === 0 ? kind : kind.toLowerCase()',
    replace: 'kind',
    tests: [OWN_SPEC, CONTRACT],
  },
  {
    name: 'commits of one call do not write one key',
    file: CALL,
    find: 'if (part.writesAnyOf(commit.writes)) return false;',
    replace: '',
    tests: [CONTRACT],
  },
  {
    name: 'what an error has stopped in the middle may have been made',
    file: SCRIPT,
    find: 'local isDone, trouble = pcall(apply, head, bytes, puts, new, deleted)',
    replace: 'local isDone, trouble = true, apply(head, bytes, puts, new, deleted)',
    tests: [OWN_SPEC],
  },
];

/** What an answer shows, and when a reader may leave it to answers. */
const answers = [
  {
    name: 'an answer is shown only if it is what comes next',
    file: WATCH,
    find: 'this.cursor === previous && !this.over',
    replace: 'this.cursor < revision && !this.over',
    tests: [WATCH_SPEC],
  },
  {
    name: 'what an answer has shown is not shown again',
    file: WATCH,
    find: 'if (revision <= this.cursor) continue;',
    replace: '',
    tests: [WATCH_SPEC],
  },
  {
    name: 'while something is unshown nobody rests',
    file: WATCH,
    find: 'return isAlone && this.cursor >= revision;',
    replace: 'return isAlone;',
    tests: [WATCH_SPEC],
  },
  {
    name: 'what was answered after the question is not lost',
    file: WATCH,
    find: 'lastRevision < shown',
    replace: 'lastRevision < this.cursor',
    tests: [WATCH_SPEC],
  },
  {
    name: 'commits that were refused are not shown',
    file: COMMITS,
    find: 'if (refused.has(n + 1)) continue;',
    replace: '',
    tests: [COMMITS_SPEC],
  },
  {
    name: 'a reader rests while all there is to read was answered',
    file: READER,
    find: 'if (watch.made(entry)) this.rest.earn();',
    replace: 'if (watch.made(entry)) void 0;',
    tests: [OWN_SPEC],
  },
  {
    name: 'a reader of several partitions does not rest',
    file: READER,
    find: 'this.goesOn(watches) && this.watches.size === 1',
    replace: 'this.goesOn(watches)',
    tests: [OWN_SPEC],
  },
  {
    name: 'a rest ends when somebody else has written',
    file: REST,
    find: 'this.end?.();',
    replace: '',
    tests: [REST_SPEC],
  },
  {
    name: 'a rest ends also while answers go on',
    file: REST,
    find: 'Math.min(this.lastMs + REST_MS, latestMs)',
    replace: 'this.lastMs + REST_MS',
    tests: [REST_SPEC],
  },
];

export const redisMutants = [...commits, ...answers];
