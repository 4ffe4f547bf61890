const POLLS = 'src/locking/long-polls.ts';
const WAIT_END = 'src/locking/wait-end.ts';
const SUBSCRIPTIONS = 'src/subscriptions/subscriptions.service.ts';
const STREAM = 'src/subscriptions/sse-stream.ts';
const GUARD = 'src/locking/guards/holder.guard.ts';

const LONG_POLL = ['src/locking/wait-end.spec.ts', 'test/e2e/longpoll.spec.ts'];
const LOG_FILE = ['src/logging/log-file.spec.ts'];
const SHUTDOWN = ['test/e2e/http-shutdown.spec.ts'];
const OLD_CLIENT = ['test/e2e/old-go-client-streams.spec.ts'];
const SSE = ['test/e2e/sse-stream.spec.ts', 'test/e2e/sse-opening.spec.ts'];

/** A log stops nothing. */
const logFile = [
  {
    name: 'lines that cannot be written are lost, not tried for ever',
    file: 'src/logging/log-file.ts',
    find: 'if (error) this.lose(this.take(), error.message);',
    replace: 'if (error) this.complain(error.message);',
  },
  {
    name: 'only so much is kept for a slow reader of the log',
    file: 'src/logging/log-file.ts',
    find: 'if (this.waitingBytes + lines.length > MOST_BYTES)',
    replace: 'if (this.waitingBytes + lines.length < 0)',
  },
  {
    name: 'nobody waits for ever for the log to be written',
    file: 'src/logging/log-file.ts',
    find: 'const timer = setTimeout(once, PATIENCE_MS);',
    replace: 'const timer = undefined;',
  },
  {
    name: 'a line of which the end was lost is ended',
    file: 'src/logging/log-file.ts',
    find: 'const isMending = this.isTorn && this.lost > 0;',
    replace: 'const isMending = false;',
  },
];

/** Rules of the design: long polls. */
const longPolls = [
  {
    name: 'a grant that could not be delivered is a failure',
    file: POLLS,
    find: '!socket.errored ? delivered : undelivered',
    replace: '!socket.errored ? delivered : undefined',
  },
  {
    name: 'an answer that a reset connection refused is not delivered',
    file: POLLS,
    find: 'response.writableFinished && !socket.errored',
    replace: 'response.writableFinished',
  },
  {
    name: 'an answer whose connection is gone is not delivered',
    file: POLLS,
    find: 'if (response.destroyed) return undelivered && this.run(resourceId, undelivered);',
    replace: '',
  },
  {
    name: 'a delivered grant is claimed',
    file: POLLS,
    find: '!socket.errored ? delivered : undelivered',
    replace: '!socket.errored ? undefined : undelivered',
  },
  {
    name: 'a wait belongs to its latest poll',
    file: POLLS,
    find: '    this.supersede(resourceId, acquire.type, acquire.asker);\n    const name',
    replace: '    const name',
  },
  {
    name: 'a wait belongs to its latest request',
    file: 'src/locking/locking.service.ts',
    find: 'this.longPolls.supersede(request.resource_id, acquire.type, acquire.asker);',
    replace: '',
  },
  {
    name: 'who hangs up leaves the queue',
    file: POLLS,
    find: "response.once('close', dropped);",
    replace: '',
  },
  {
    name: 'a poll counts as asking',
    file: POLLS,
    find: '    this.keepAsking(wait);\n    const dropped',
    replace: '    const dropped',
  },
  {
    name: 'who asked to leave after its time has left',
    file: POLLS,
    find: 'if (!wait.poll.leaveOnTimeout) return',
    replace: 'return',
  },
  {
    name: 'polls are answered at shutdown',
    file: POLLS,
    find: 'for (const wait of [...this.waits.values()]) this.release(wait);',
    replace: '',
    tests: SHUTDOWN,
  },
  {
    name: 'nobody waits at a server that is stopping',
    file: POLLS,
    find: 'if (wait.released || this.stopping) return',
    replace: 'if (wait.released) return',
    tests: SHUTDOWN,
  },
  {
    name: "another wait's grant is not this one's",
    file: WAIT_END,
    find: 'sameAsker(hold, asker) && sameMoment(hold.ticket, ticket)',
    replace: 'sameAsker(hold, asker)',
  },
  {
    name: 'a wait that was begun anew is another',
    file: WAIT_END,
    find: 'if (waiter && sameMoment(waiter.ticket, ticket)) return undefined;',
    replace: 'if (waiter) return undefined;',
  },
  {
    name: 'a dismissal told at once is spent when it is delivered',
    file: WAIT_END,
    find: 'if (!dismissal || !told) return { result };',
    replace: 'return { result };',
  },
  {
    name: 'a dismissal told after a wait is spent when it is delivered',
    file: WAIT_END,
    find: "delivered: { kind: 'spend', type, asker: { nodeId, sessionId }, moment },",
    replace: '',
  },
  {
    name: 'a response whose turn has not come hears of the end of its connection',
    file: 'src/common/express/queued-responses.ts',
    find: "response.destroy().emit('close')",
    replace: 'response.destroy()',
  },
];

/** The guard asks the core's own rule, read-only. */
const guard = [
  {
    name: 'who does not hold the lock is turned away before the turn of the resource',
    file: GUARD,
    find: 'return this.refuses(seen, request, sessionEnded) ? this.confirm(request, sessionEnded) : true;',
    replace: 'return true;',
  },
  {
    name: 'nobody is turned away on the strength of an old cache',
    file: GUARD,
    find: 'await this.manager.read(request.resource_id)',
    replace: 'this.manager.peek(request.resource_id) ?? EMPTY_STATE',
  },
];

/** Rules of the design: streams of keys. */
const streams = [
  {
    name: 'no heartbeats to streams without a node',
    file: SUBSCRIPTIONS,
    find: 'heartbeats: asker !== undefined',
    replace: 'heartbeats: true',
    tests: OLD_CLIENT,
  },
  {
    name: 'streams without a node are told to ask again when they have thrown a line away',
    file: SUBSCRIPTIONS,
    find: 'else this.promptLater({ type, resourceId, stream });',
    replace: '',
    tests: OLD_CLIENT,
  },
  {
    name: 'streams without a node are told to ask again at each later change',
    file: 'src/subscriptions/key-audiences.ts',
    find: 'if (prompted.size > 0 && this.isWorthAsking(type, resourceId)) tell(prompted, ASK_AGAIN);',
    replace: '',
    tests: OLD_CLIENT,
  },
  {
    name: 'the truth on opening is that of the store',
    file: SUBSCRIPTIONS,
    find: "await this.manager.execute(resourceId, { kind: 'forget', type: '', upTo: 0 });",
    replace: '',
    tests: ['test/e2e/sse-opening.spec.ts'],
  },
  {
    name: 'a stream counts as asking',
    file: SUBSCRIPTIONS,
    find: 'this.touches.add(waiting);',
    replace: '',
  },
  {
    name: 'a stream counts as asking from the moment it opens',
    file: SUBSCRIPTIONS,
    find: 'if (this.askedLongAgo(waiting)) this.touch(waiting);',
    replace: '',
  },
  {
    name: 'references kept apart are the truth on opening, too',
    file: SUBSCRIPTIONS,
    find: 'const references = await this.keptApart(resourceId, type);',
    replace: 'const references = undefined;',
  },
  {
    name: 'a slow reader is cut off',
    file: STREAM,
    find: 'if (this.response.writableLength > MAX_PENDING_BYTES) this.destroy();',
    replace: '',
  },
  {
    name: 'a snapshot waits for its reader',
    file: STREAM,
    find: 'if (!this.isOpen || !writer.writableNeedDrain) return;',
    replace: 'return;',
    tests: ['test/e2e/sse-events.spec.ts'],
  },
  {
    name: 'streams are destroyed, not ended',
    file: STREAM,
    find: '    this.response.destroy();',
    replace: '    this.response.end();',
    tests: SHUTDOWN,
  },
  {
    name: 'what is for observers is not told to subscribers',
    file: 'src/subscriptions/key-events.ts',
    find: '!event.observersOnly &&',
    replace: '',
    tests: ['test/e2e/presets.spec.ts'],
  },
];

const stopped = [
  {
    name: 'what was given up while the server was stopped is not done',
    file: 'src/common/express/json-body-reader.ts',
    find: 'if (this.absence.isJustOver()) unlessGone(req, next);\n      else next();',
    replace: 'next();',
  },
  {
    name: 'what came while the server was stopped is suspect until it is read, not only the first of it',
    file: 'src/common/express/absence.ts',
    find: 'return now < this.backUntilMs;',
    replace: 'return now === this.backUntilMs - BACK_MS;',
  },
];

export const waitingMutants = [
  ...withTests(LOG_FILE, logFile),
  ...withTests(LONG_POLL, longPolls),
  ...withTests(['test/e2e/http-holder-guard.spec.ts'], guard),
  ...withTests(SSE, streams),
  ...withTests(['src/common/express/absence.spec.ts', 'test/e2e/stopped-server.spec.ts'], stopped),
];

function withTests(tests, group) {
  return group.map((mutant) => ({ tests, ...mutant }));
}
