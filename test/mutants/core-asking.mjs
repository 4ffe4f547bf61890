/** Rules of the design: what a request for a lock is told. */
const acquire = [
  {
    name: 'an ended session is refused before all else',
    find: "if (command.sessionEnded) return refused('SESSION_NOT_FOUND', 'the session is unknown or has ended');",
    replace: '',
  },
  {
    name: 'the holder that asks again keeps its hold',
    find: 'if (key.hold && sameAsker(key.hold, command.asker)) return holdAgain(step, key, key.hold, command);',
    replace: '',
  },
  {
    name: 'another session of the same node is another asker',
    find: 'key.hold && sameAsker(key.hold, command.asker)',
    replace: 'key.hold && key.hold.nodeId === command.asker.nodeId',
  },
  {
    name: 'the holder that asks again claims its hold',
    find: "leaseMs, claimed: true, renewed: THIS_COMMIT } });\n  return { kind: 'acquired'",
    replace: "leaseMs, renewed: THIS_COMMIT } });\n  return { kind: 'acquired'",
  },
  {
    name: 'the holder that asks again renews its hold',
    find: "leaseMs, claimed: true, renewed: THIS_COMMIT } });\n  return { kind: 'acquired'",
    replace: "leaseMs, claimed: true } });\n  return { kind: 'acquired'",
  },
  {
    name: 'the holder that asks again may change its lease',
    find: 'const leaseMs = command.leaseMs ?? hold.leaseMs;',
    replace: 'const leaseMs = hold.leaseMs;',
  },
  {
    name: 'the absence of the bytes is kept with the waiter',
    find: 'absent: command.absent ?? waiter?.absent ?? false,\n    ticket',
    replace: 'absent: command.absent ?? false,\n    ticket',
  },
  { name: 'a ticket is heard', find: 'ticket: command.ticket,', replace: 'ticket: undefined,' },
  {
    name: 'a dismissal is told to its asker',
    find: 'dismissal: key.dismissals.find(command.asker),',
    replace: 'dismissal: undefined,',
  },
  {
    name: 'a request is judged before it is granted',
    find: "if (verdict.kind !== 'proceed') return turnAway(step, key, waiter, command, verdict, question.dismissal);",
    replace: '',
  },
  {
    name: 'a skip says whether its asker had been dismissed',
    find: 'wasDismissed: dismissal?.outcome.success ?? false',
    replace: 'wasDismissed: false',
  },
  {
    name: 'a held key is not granted',
    find: 'if (!blocking) return grantNow',
    replace: 'if (!blocking || !waiter) return grantNow',
  },
  {
    name: 'a waiter that is granted a free key leaves its queue',
    find: 'waiter ? step.removeWaiter(key, waiter) : key, command);',
    replace: 'key, command);',
  },
  {
    name: 'asking again keeps the place',
    find: 'if (waiter) return waitOn(step, key, waiter, command);',
    replace: '',
  },
  {
    name: 'a held key refuses where several nodes are not allowed',
    find: "if (!step.policy.allowMultiNodeDownload) return refused('LOCK_HELD', `held by ${blocking.nodeId}`);",
    replace: '',
  },
  {
    name: 'who is turned away leaves the queue',
    find: 'const left = waiter ? step.removeWaiter(key, waiter) : key;',
    replace: 'const left = key;',
  },
  {
    name: 'a told dismissal is spent',
    find: 'if (!command.deliveredLater) step.removeDismissal(left, command.asker);',
    replace: '',
  },
  {
    name: 'a dismissal is not spent before its answer is delivered',
    find: 'if (!command.deliveredLater) step.removeDismissal(left, command.asker);',
    replace: 'step.removeDismissal(left, command.asker);',
  },
  {
    name: 'leaving the queue is an event',
    find: "if (waiter) emitFor(step, 'withdrawn', command);",
    replace: '',
  },
  {
    name: 'a skipped pull becomes a reference',
    find: "referenceEffect(command.type) === 'add-node' && refer(step, [command.asker]) > 0",
    replace: 'false',
  },
  {
    name: 'only a pull becomes a reference by being skipped',
    find: "referenceEffect(command.type) === 'add-node' && refer",
    replace: 'refer',
  },
  {
    name: 'only a new reference is an event',
    find: 'refer(step, [command.asker]) > 0',
    replace: 'refer(step, [command.asker]) >= 0',
  },
  {
    name: 'types beyond the limit are refused a hold',
    find: 'const full = refuseNewType(step, key);\n  if (full) return full;\n  const hold',
    replace: 'const hold',
  },
  {
    name: 'types beyond the limit are refused a queue',
    find: 'const full = refuseNewType(step, key);\n  if (full) return full;\n  const length',
    replace: 'const length',
  },
  {
    name: 'types that are there are not new',
    find: ' || keys.includes(key)) return undefined;',
    replace: ') return undefined;',
  },
  {
    name: 'a waiter is written again when it is due',
    find: 'if (command.touch || differs) {',
    replace: 'if (differs) {',
  },
  {
    name: 'a waiter that looked for the bytes is written again',
    find: 'absent !== waiter.absent || ',
    replace: '',
  },
  {
    name: 'a waiter with a new lease is written again',
    find: 'leaseMs !== waiter.leaseMs || ',
    replace: '',
  },
  {
    name: 'a waiter whose poll has moved is written again',
    find: ' || polledAt !== waiter.polledAt',
    replace: '',
  },
  {
    name: 'a plain request elsewhere takes the wait over',
    find: 'deliveredLater || polledAt === at ? at : undefined',
    replace: 'deliveredLater ? at : polledAt',
  },
  {
    name: 'asking again costs no write',
    find: 'if (command.touch || differs) {',
    replace: '{',
  },
  {
    name: 'a waiter written again counts from then',
    find: 'const renewed = { ...waiter, absent, leaseMs, polledAt, renewed: THIS_COMMIT };',
    replace: 'const renewed = { ...waiter, absent, leaseMs, polledAt };',
  },
  {
    name: 'a full queue refuses',
    find: 'if (length >= step.policy.maxQueueLength)',
    replace: 'if (length > step.policy.maxQueueLength)',
  },
  {
    name: 'who queues again has nothing old to be told',
    find: 'const left = step.removeDismissal(key, waiter);',
    replace: 'const left = key;',
  },
  {
    name: 'a request waits in the lane of its subtype',
    find: 'const name = laneName(command.subtype, step.policy);',
    replace: "const name = '';",
  },
  { name: 'queueing is an event', find: "emitFor(step, 'queued', command);", replace: '' },
];

const judge = [
  {
    name: 'only a pull can be absent',
    find: "const absent = question.absent && key.type === 'pull';",
    replace: 'const absent = question.absent;',
  },
  {
    name: 'absence switches references off',
    find: 'if (!absent) {\n    const byReferences',
    replace: '{\n    const byReferences',
  },
  {
    name: 'beside a held delete nothing else is skipped',
    find: "const maySkip = key.type === 'delete' || !isDeleteHeld(state);",
    replace: 'const maySkip = true;',
  },
  {
    name: 'beside a held delete a delete may be skipped',
    find: "const maySkip = key.type === 'delete' || !isDeleteHeld(state);",
    replace: 'const maySkip = !isDeleteHeld(state);',
  },
  {
    name: 'a success skips only tickets older than itself',
    find: 'question.ticket !== undefined && isLater(success.moment, question.ticket)',
    replace: 'question.ticket !== undefined',
  },
  {
    name: 'a success does not skip who has no ticket',
    find: 'question.ticket !== undefined && isLater(success.moment, question.ticket)',
    replace: 'question.ticket === undefined || isLater(success.moment, question.ticket)',
  },
  {
    name: 'absence switches the skip after completion off',
    find: 'const recent = !absent && policy',
    replace: 'const recent = policy',
  },
  {
    name: 'the skip after completion is off at 0, even if the clock goes back',
    find: 'policy.completedSkipMs > 0 && ',
    replace: '',
  },
  {
    name: 'the skip after completion ends',
    find: 'nowMs - success.atMs < policy.completedSkipMs',
    replace: 'true',
  },
  { name: 'the skip after completion exists', find: 'if (missed || recent)', replace: 'if (missed)' },
  { name: 'a newer success skips', find: 'if (missed || recent)', replace: 'if (recent)' },
  {
    name: 'absence switches dismissals off',
    find: 'if (question.dismissal && !absent)',
    replace: 'if (question.dismissal)',
  },
  {
    name: 'counting is off when the clients count',
    find: "policy.refcountMode === 'client' || count === 0",
    replace: 'count === 0',
  },
  {
    name: 'references refuse what must not meet them',
    find: 'if (refusedWhenReferenced(type, policy.updateRequiresNoRef)) {',
    replace: 'if (false) {',
  },
  { name: 'references skip a pull', find: '!skipsWhenReferenced(type) || !maySkip', replace: 'true' },
  {
    name: 'references skip only a pull',
    find: '!skipsWhenReferenced(type) || !maySkip',
    replace: '!maySkip',
  },
  {
    name: 'references do not skip a pull beside a held delete',
    find: '!skipsWhenReferenced(type) || !maySkip',
    replace: '!skipsWhenReferenced(type)',
  },
  {
    name: 'the earliest reference speaks',
    find: 'const earliest = state.references.first!;',
    replace: 'const earliest = [...state.references].at(-1)!;',
  },
  {
    name: 'a dismissal by failure refuses',
    find: "if (outcome.code) return { kind: 'refuse', code: outcome.code, error: outcome.error };",
    replace: '',
  },
  {
    name: 'operation isolation looks at the key alone',
    find: "if (policy.lockIsolation === 'operation') return keyOf(state, type)?.hold;",
    replace: '',
  },
  {
    name: 'resource isolation looks at every key',
    find: 'return state.keys.find((key) => key.hold)?.hold;',
    replace: 'return keyOf(state, type)?.hold;',
  },
];

const referenceRules = [
  { name: 'references skip pulls', find: "return type === 'pull';", replace: 'return false;' },
  {
    name: 'references refuse deletes',
    find: "type === 'delete' || (type === 'update'",
    replace: "(type === 'update'",
  },
  {
    name: 'updates are refused only where that is configured',
    find: "(type === 'update' && updateRequiresNoRef)",
    replace: "type === 'update'",
  },
  {
    name: 'updates are refused where that is configured',
    find: " || (type === 'update' && updateRequiresNoRef)",
    replace: '',
  },
  { name: 'a pull adds its node', find: "if (type === 'pull') return 'add-node';", replace: '' },
  { name: 'a delete drops the references', find: "if (type === 'delete') return 'drop-all';", replace: '' },
];

const references = [
  {
    name: 'a reference cannot be added while the resource is deleted',
    find: "if (isDeleteHeld(step.state)) return refused('LOCK_HELD', 'the resource is being deleted');",
    replace: '',
  },
  {
    name: 'a reference cannot be added when the clients count',
    find: "if (step.policy.refcountMode === 'client') return disabled();\n  if",
    replace: 'if',
  },
  {
    name: 'a reference cannot be released when the clients count',
    find: "if (step.policy.refcountMode === 'client') return disabled();\n  const",
    replace: 'const',
  },
  {
    name: 'a reference is released',
    find: 'step.putReferences(references.remove({ nodeId }));',
    replace: '',
  },
  {
    name: 'adding a reference is an event, once',
    find: 'refer(step, [{ nodeId }]) > 0',
    replace: 'refer(step, [{ nodeId }]) >= 0',
  },
];

export const askingMutants = [
  ...inFile('src/core/acquire.ts', acquire),
  ...inFile('src/core/judge.ts', judge),
  ...inFile('src/core/reference-rules.ts', referenceRules),
  ...inFile('src/core/references.ts', references),
];

function inFile(file, mutants) {
  return mutants.map((mutant) => ({ file, ...mutant }));
}
