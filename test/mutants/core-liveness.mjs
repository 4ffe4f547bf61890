/** Rules of the design: liveness, memory and what a poller is told. */
const liveness = [
  {
    name: 'a renewal claims',
    find: "leaseMs, claimed: true, renewed: THIS_COMMIT } });\n  return { kind: 'renewed'",
    replace: "leaseMs, renewed: THIS_COMMIT } });\n  return { kind: 'renewed'",
  },
  {
    name: 'a renewal counts from its commit',
    find: "leaseMs, claimed: true, renewed: THIS_COMMIT } });\n  return { kind: 'renewed'",
    replace: "leaseMs, claimed: true } });\n  return { kind: 'renewed'",
  },
  {
    name: 'a renewal may change the lease',
    find: 'const leaseMs = command.leaseMs ?? hold.leaseMs;',
    replace: 'const leaseMs = hold.leaseMs;',
  },
  {
    name: 'a claim is written once',
    find: 'if (hold && !hold.claimed) {',
    replace: 'if (hold) {',
  },
  {
    name: 'a claim counts as a renewal',
    find: 'hold: { ...hold, claimed: true, renewed: THIS_COMMIT } });\n    return CHANGED;',
    replace: 'hold: { ...hold, claimed: true } });\n    return CHANGED;',
  },
  {
    name: 'a waiter that names the key is written only when due',
    find: 'if (!waiter || !command.touch) return NOTHING_CHANGED;',
    replace: 'if (!waiter) return NOTHING_CHANGED;',
  },
  {
    name: 'a waiter that is due is written when it names the key',
    find: 'return replaceWaiter(step, key, { ...waiter, renewed: THIS_COMMIT });',
    replace: 'return NOTHING_CHANGED;',
  },
  {
    name: 'a touch writes the waiter',
    find: 'waiter ? replaceWaiter(step, key, { ...waiter, renewed: THIS_COMMIT }) : NOTHING_CHANGED',
    replace: 'NOTHING_CHANGED',
  },
  {
    name: 'a withdrawal that names a ticket means that wait',
    find: '!command.ticket || (ticket !== undefined && sameMoment(ticket, command.ticket))',
    replace: 'true || ticket',
  },
  {
    name: 'a withdrawal takes the waiter out',
    find: 'if (waiter && means(waiter)) return dropWaiter',
    replace: 'if (waiter && !waiter) return dropWaiter',
  },
  {
    name: 'a withdrawal means what was last polled for at its instance',
    find: '(command.polledAt === undefined || command.polledAt === polledAt)',
    replace: 'true || polledAt',
  },
  {
    name: 'a claimed hold is not withdrawn',
    find: 'if (!hold || hold.claimed || !means(hold))',
    replace: 'if (!hold || !means(hold))',
  },
  {
    name: 'a withdrawal that names a ticket means the hold it became',
    find: 'if (!hold || hold.claimed || !means(hold))',
    replace: 'if (!hold || hold.claimed)',
  },
  {
    name: 'an unclaimed hold fails by withdrawal',
    find: "failHold(step, key, hold, 'released', command.error);",
    replace: '',
  },
  {
    name: 'a hold is bound',
    find: 'hold: { ...hold, boundAt }',
    replace: 'hold: { ...hold }',
  },
  {
    name: 'a binding is written once',
    find: 'if (hold && hold.boundAt !== boundAt) {',
    replace: 'if (hold) {',
  },
  { name: 'a waiter is bound', find: '{ ...waiter, boundAt }', replace: 'waiter' },
  {
    name: 'a bound waiter is not written again',
    find: 'if (!waiter || waiter.boundAt === boundAt)',
    replace: 'if (!waiter)',
  },
  {
    name: 'the expiry of a hold is void after a renewal',
    find: 'if (hold?.token !== command.token || hold.renewed !== command.renewed)',
    replace: 'if (hold?.token !== command.token)',
  },
  {
    name: 'the expiry of a hold means that hold',
    find: 'if (hold?.token !== command.token || hold.renewed !== command.renewed)',
    replace: 'if (!hold || hold.renewed !== command.renewed)',
  },
  {
    name: 'the expiry of a wait is void after it was written',
    find: ' || waiter.renewed !== command.renewed) {',
    replace: ') {',
  },
  {
    name: 'the expiry of a wait means that wait',
    find: '!sameMoment(waiter.ticket, command.ticket) || ',
    replace: '',
  },
  {
    name: 'the end of a session withdraws its wait',
    find: 'if (waiter) return dropWaiter(step, key, waiter, command.error);',
    replace: '',
  },
  {
    name: 'the end of a session fails its hold',
    find: "failHold(step, key, hold, 'expired', command.error);\n  return CHANGED;\n}\n\nfunction",
    replace: 'return CHANGED;\n}\n\nfunction',
  },
  {
    name: 'a hold is its asker’s, not its node’s',
    find: 'key.hold && sameAsker(key.hold, asker) ? key.hold : undefined',
    replace: 'key.hold?.nodeId === asker.nodeId ? key.hold : undefined',
  },
  {
    name: 'a withdrawal is an event',
    find: "const event = step.emit('withdrawn', key.type, waiter);\n  event.error = error;\n  event.sinceMs = waiter.requestedAtMs;",
    replace: '',
  },
];

const remembering = [
  {
    name: 'a delivery spends only the dismissal it names',
    find: 'if (!dismissal || !sameMoment(dismissal.outcome.moment, command.moment)) {',
    replace: 'if (!dismissal) {',
  },
  { name: 'a delivery spends', find: 'step.removeDismissal(key, command.asker);', replace: '' },
  {
    name: 'what is younger than the limit is kept',
    find: 'memory && isLater(memory.moment, limit) ? memory : undefined',
    replace: 'memory && !memory ? memory : undefined',
  },
  {
    name: 'what is being remembered in this commit is not forgotten in it',
    find: 'memory && isLater(memory.moment, limit) ? memory : undefined',
    replace: 'memory && memory.moment.revision > upTo ? memory : undefined',
  },
  {
    name: 'who is dismissed in this commit is not forgotten in it',
    find: '!isLater(outcome.moment, limit)',
    replace: 'outcome.moment.revision <= upTo',
  },
  {
    name: 'the limit itself is forgotten',
    find: 'const limit = { revision: upTo, n: Number.MAX_SAFE_INTEGER };',
    replace: 'const limit = { revision: upTo - 1, n: Number.MAX_SAFE_INTEGER };',
  },
  { name: 'successes are forgotten', find: 'success: kept(key.success),', replace: '' },
  { name: 'failures are forgotten', find: 'failure: kept(key.failure),', replace: '' },
  { name: 'releases are forgotten', find: 'lastRelease: kept(key.lastRelease),', replace: '' },
  {
    name: 'dismissals are forgotten',
    find: '({ outcome }) => !isLater',
    replace: '({ outcome }) => false && !isLater',
  },
  { name: 'forgetting nothing writes nothing', find: 'if (changed) step.putKey', replace: 'step.putKey' },
];

const status = [
  {
    name: 'nothing is completed while the key is held',
    find: 'const end = key.hold || queued ?',
    replace: 'const end = queued ?',
  },
  {
    name: 'nothing is completed for who waits',
    find: 'const end = key.hold || queued ?',
    replace: 'const end = key.hold ?',
  },
  {
    name: 'only the holder has acquired',
    find: ' && sameAsker(key.hold, asker),',
    replace: ',',
  },
  {
    name: 'a poller is told its dismissal',
    find: 'if (missed ?? dismissal) return missed ?? dismissal?.outcome;',
    replace: 'if (missed) return missed;',
  },
  {
    name: 'references are not the truth while the resource is deleted',
    find: ' && !isDeleteHeld(state);',
    replace: ';',
  },
  {
    name: 'references complete pulls only',
    find: ' && skipsWhenReferenced(key.type)',
    replace: '',
  },
  {
    name: 'references complete a pull',
    find: "if (reference) return { success: true, error: '', atMs: reference.sinceMs };",
    replace: '',
  },
  {
    name: 'a ticket asks for what is newer',
    find: 'key.failure && isLater(key.failure.moment, ticket) ? key.failure : undefined',
    replace: 'key.failure',
  },
  {
    name: 'an old success is not the newest thing while somebody waits',
    find: 'return key.lanes.length === 0 ? ',
    replace: 'return true ? ',
  },
  {
    name: 'a newer failure is told before the success',
    find: '(key.failure ?? key.success)',
    replace: '(key.success ?? key.failure)',
  },
];

export const livenessMutants = [
  ...inFile('src/core/liveness.ts', liveness),
  ...inFile('src/core/remembering.ts', remembering),
  ...inFile('src/core/status.ts', status),
];

function inFile(file, mutants) {
  return mutants.map((mutant) => ({ file, ...mutant }));
}
