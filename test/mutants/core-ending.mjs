/** Rules of the design: how a run ends, and who is served next. */
const release = [
  {
    name: 'a repeated release gets the same answer',
    find: 'if (key?.lastRelease && isRepeated(key.lastRelease, command)) {',
    replace: 'if (false) {',
  },
  {
    name: 'a repetition may name node and token',
    find: '(sameAsker(last, command.asker) || sameNodeWithToken)',
    replace: 'sameAsker(last, command.asker)',
  },
  {
    name: 'a repetition is of the same asker',
    find: '(sameAsker(last, command.asker) || sameNodeWithToken)',
    replace: 'last.nodeId === command.asker.nodeId',
  },
  {
    name: 'a repetition does not name another token',
    find: '(command.token === undefined || command.token === last.token) &&',
    replace: '',
  },
  { name: 'a repetition has the same outcome', find: 'last.success === command.success &&', replace: '' },
  { name: 'a repetition has the same error', find: 'last.error === command.error &&', replace: '' },
  { name: 'a repetition is as fatal', find: ' &&\n    last.fatal === command.fatal', replace: '' },
  {
    name: 'a release by an ended session is refused',
    find: "if (command.sessionEnded) return refused('SESSION_NOT_FOUND', 'the session is unknown or has ended');",
    replace: '',
  },
  {
    name: 'another node never releases a hold',
    find: "if (hold.nodeId !== command.asker.nodeId) return gone('NOT_HOLDER', `held by ${hold.nodeId}`);",
    replace: '',
  },
  {
    name: 'a token that is not the hold’s is refused',
    find: 'if (command.token !== undefined && command.token !== hold.token) {',
    replace: 'if (false) {',
  },
  {
    name: 'another session needs the token',
    find: 'if (command.token === undefined && !sameAsker(hold, command.asker)) {',
    replace: 'if (false) {',
  },
  {
    name: 'the token is enough for another session of the node',
    find: 'if (command.token === undefined && !sameAsker(hold, command.asker)) {',
    replace: 'if (!sameAsker(hold, command.asker)) {',
  },
  {
    name: 'a forced release means one hold',
    find: 'if (key.hold.token !== command.token) {',
    replace: 'if (false) {',
  },
  {
    name: 'who lost a hold by force is told why',
    find: 'refused(code, whyTaken(key?.lastRelease, command) ?? fact)',
    replace: 'refused(code, fact)',
  },
  {
    name: 'why a hold was taken is told to its own node',
    find: 'last?.nodeId !== asker.nodeId || !last.error',
    replace: '!last || !last.error',
  },
  {
    name: 'why a hold was taken is told to its own asker',
    find: 'token === undefined ? sameAsker(last, asker) : token === last.token',
    replace: 'token === undefined || token === last.token',
  },
  {
    name: 'why a hold was taken is told of that hold',
    find: 'token === undefined ? sameAsker(last, asker) : token === last.token',
    replace: 'sameAsker(last, asker)',
  },
  {
    name: 'a reported failure is not told as force',
    find: ' || !last.error.startsWith(BY_FORCE)',
    replace: '',
  },
  {
    name: 'a fatal failure is not served on',
    find: 'command.fatal\n      ? failFatally(step, key, hold, command.error)',
    replace: 'command.fatal && false\n      ? failFatally(step, key, hold, command.error)',
  },
  {
    name: 'the last release is remembered',
    find: 'fatal: command.fatal,\n    nextHolder,\n  };\n  step.putKey({ ...step.key(command.type), lastRelease });',
    replace: 'fatal: command.fatal,\n    nextHolder,\n  };\n  void lastRelease;',
  },
  {
    name: 'a success applies the reference rule',
    find: 'applyReferences(step, key.type, hold);\n',
    replace: '',
  },
  {
    name: 'beside a held delete a success is not recorded',
    find: "const besideDelete = type !== 'delete' && isDeleteHeld(step.state);",
    replace: 'const besideDelete = false;',
  },
  {
    name: 'the success of the delete itself is recorded',
    find: "const besideDelete = type !== 'delete' && isDeleteHeld(step.state);",
    replace: 'const besideDelete = isDeleteHeld(step.state);',
  },
  {
    name: 'hand-over passes the lock on',
    find: "if (besideDelete || step.policy.successPolicy === 'handover') {",
    replace: 'if (besideDelete) {',
  },
  {
    name: 'an unrecorded success is still newer than an old failure',
    find: 'hold: undefined, failure: undefined });',
    replace: 'hold: undefined });',
  },
  {
    name: 'a success drops an old failure',
    find: 'hold: undefined, success, failure: undefined }',
    replace: 'hold: undefined, success }',
  },
  {
    name: 'a success is recorded',
    find: 'hold: undefined, success, failure: undefined }',
    replace: 'hold: undefined, failure: undefined }',
  },
  {
    name: 'a success that dismisses nobody is for observers only',
    find: 'event.success = true;\n    event.observersOnly = true;',
    replace: 'event.success = true;',
  },
  {
    name: 'a success that is handed over serves the next',
    find: 'event.observersOnly = true;\n    return serve(step, type);',
    replace: 'event.observersOnly = true;\n    return undefined;',
  },
  {
    name: 'a success frees the resource for others',
    find: 'event.dismissed = dismissed;\n  return serve(step, type);',
    replace: 'event.dismissed = dismissed;\n  return undefined;',
  },
  {
    name: 'a fatal failure frees the resource for others',
    find: 'event.dismissed = dismissed;\n  return serve(step, key.type);',
    replace: 'event.dismissed = dismissed;\n  return undefined;',
  },
  {
    name: 'a fatal failure is recorded',
    find: 'step.put({ ...key, hold: undefined, failure })',
    replace: 'step.put({ ...key, hold: undefined })',
  },
  {
    name: 'a failure serves the next',
    find: 'event.observersOnly = true;\n  return serve(step, key.type);',
    replace: 'event.observersOnly = true;\n  return undefined;',
  },
  {
    name: 'a plain failure is for observers only',
    find: 'event.error = error;\n  event.observersOnly = true;',
    replace: 'event.error = error;',
  },
  {
    name: 'the server counts nothing when the clients count, in a delete either',
    find: "if (step.policy.refcountMode === 'client') return;",
    replace: '',
  },
  {
    name: 'a successful pull counts its worker',
    find: "if (effect === 'add-node') refer(step, [hold]);\n  else if",
    replace: 'if',
  },
  {
    name: 'a successful delete drops the references',
    find: "else if (effect === 'drop-all' && step.state.references.size > 0) step.putReferences(NO_REFERENCES);",
    replace: '',
  },
];

const serve = [
  {
    name: 'a waiter is judged again when it is served',
    find: "if (verdict.kind === 'proceed') {",
    replace: 'if (true) {',
  },
  {
    name: 'serving goes on after a queue was refused or a waiter skipped',
    find: 'else skipRun(step, candidate, verdict);\n    candidate = nextCandidate(step, type);',
    replace: 'else skipRun(step, candidate, verdict);\n    candidate = undefined;',
  },
  {
    name: 'resource isolation serves the resource',
    find: "if (policy.lockIsolation === 'resource') return earliestHead(state, policy);",
    replace: '',
  },
  {
    name: 'nobody is served while the key is held',
    find: 'if (blockingHold(state, type, policy)) return undefined;',
    replace: '',
  },
  {
    name: 'absence is kept with the waiter until it is served',
    find: 'absent: waiter.absent,',
    replace: 'absent: false,',
  },
  {
    name: 'a waiter that is handed the lock leaves the queue',
    find: 'const left = step.removeWaiter(key, waiter);',
    replace: 'const left = key;',
  },
  {
    name: 'what is handed over is not claimed yet',
    find: 'claimed: false',
    replace: 'claimed: true',
  },
  {
    name: 'what is handed over has the lease that was asked for',
    find: 'leaseOf(waiter, waiter.leaseMs, step.policy)',
    replace: 'leaseOf(waiter, undefined, step.policy)',
  },
  {
    name: 'a refusal dismisses the whole queue',
    find: 'const dismissed = dismissQueue(step, key, outcome);',
    replace: 'step.removeWaiter(key, waiter);\n  const dismissed = 1;',
  },
  {
    name: 'a refusal is recorded',
    find: 'step.putKey({ ...step.key(key.type), failure: outcome });',
    replace: '',
  },
  {
    name: 'a refusal is an event',
    find: "const event = step.emit('failed', key.type, { nodeId: waiter.nodeId });\n  event.error = outcome.error;\n  event.dismissed = dismissed;",
    replace: '',
  },
  {
    name: 'a run of skips ends where another queue’s head came earlier',
    find: 'while (candidate?.key.type === type && judgeWaiter(step, candidate).kind',
    replace: 'while (candidate && judgeWaiter(step, candidate).kind',
  },
  {
    name: 'only who would be skipped is skipped',
    find: " && judgeWaiter(step, candidate).kind === 'skip') {",
    replace: ') {',
  },
  {
    name: 'a skip is remembered until it is told',
    find: 'remember(step, step.key(type), skipped, outcome);',
    replace: '',
  },
];

const dismiss = [
  {
    name: 'dismissed waiters leave the queue',
    find: 'step.put({ ...key, lanes: [] })',
    replace: 'step.put(key)',
  },
  {
    name: 'dismissals are bounded',
    find: 'const tooMany = dismissals.size - MAX_DISMISSALS;',
    replace: 'const tooMany = 0;',
  },
  {
    name: 'the oldest dismissals go first, and no more than needed',
    find: '.slice(0, tooMany)',
    replace: '.slice(0, tooMany + 1)',
  },
  {
    name: 'a dismissed pull becomes a reference',
    find: "if (outcome.success && referenceEffect(key.type) === 'add-node') refer(step, dismissed);",
    replace: '',
  },
  {
    name: 'a pull dismissed by failure does not become a reference',
    find: "if (outcome.success && referenceEffect(key.type) === 'add-node')",
    replace: "if (referenceEffect(key.type) === 'add-node')",
  },
  {
    name: 'a dismissal of another type makes no reference',
    find: "if (outcome.success && referenceEffect(key.type) === 'add-node')",
    replace: 'if (outcome.success)',
  },
  {
    name: 'nobody is counted when the clients count',
    find: "if (step.policy.refcountMode === 'client') return 0;",
    replace: '',
  },
  {
    name: 'one node is counted once',
    find: 'if (only && references.has({ nodeId: only.nodeId })) return 0;',
    replace: '',
  },
  { name: 'known nodes are not counted again', find: 'if (known?.has(nodeId)) continue;', replace: '' },
  { name: 'two sessions of one node are one reference', find: 'known?.add(nodeId);', replace: '' },
];

const grant = [
  {
    name: 'a grant leaves nothing old to be told',
    find: 'const held = step.removeDismissal(key, request);',
    replace: 'const held = key;',
  },
  {
    name: 'a grant voids what it contradicts',
    find: '  voidOpposed(step, key.type);\n',
    replace: '',
  },
  {
    name: 'a grant at once is told apart from a hand-over',
    find: "request.claimed ? 'granted' : 'assigned'",
    replace: "request.claimed ? 'assigned' : 'granted'",
  },
  { name: 'a hand-over keeps the binding', find: 'boundAt: request.boundAt', replace: 'boundAt: undefined' },
  {
    name: 'a session needs no default lease',
    find: '(asker.sessionId === undefined ? policy.defaultLeaseMs : 0)',
    replace: 'policy.defaultLeaseMs',
  },
  {
    name: 'the lease that was asked for counts',
    find: 'requestedMs ?? (asker',
    replace: '(asker',
  },
  {
    name: 'a delete voids the others',
    find: "type === 'delete' ? key.type !== 'delete' : key.type === 'delete'",
    replace: "type !== 'delete' && key.type === 'delete'",
  },
  {
    name: 'another type voids the delete',
    find: "type === 'delete' ? key.type !== 'delete' : key.type === 'delete'",
    replace: "type === 'delete' && key.type !== 'delete'",
  },
  {
    name: 'a delete does not void itself',
    find: "type === 'delete' ? key.type !== 'delete' :",
    replace: "type === 'delete' ? true :",
  },
  {
    name: 'other types do not void each other',
    find: ": key.type === 'delete';",
    replace: ': key.type !== type;',
  },
  { name: 'successes are voided', find: 'success: undefined, dismissals', replace: 'dismissals' },
  {
    name: 'only dismissals by success are voided',
    find: '({ outcome }) => !outcome.success',
    replace: '() => false',
  },
  {
    name: 'an asker that holds again has outlived its last release',
    find: 'lastRelease: again ? undefined : held.lastRelease',
    replace: 'lastRelease: held.lastRelease',
  },
  {
    name: 'dismissals are voided',
    find: 'success: undefined, dismissals });',
    replace: 'success: undefined });',
  },
  {
    name: 'dismissals are voided where there is no success',
    find: 'key.success || dismissals !== key.dismissals',
    replace: 'key.success',
  },
];

export const endingMutants = [
  ...inFile('src/core/release.ts', release),
  ...inFile('src/core/serve.ts', serve),
  ...inFile('src/core/dismiss.ts', dismiss),
  ...inFile('src/core/grant.ts', grant),
];

function inFile(file, mutants) {
  return mutants.map((mutant) => ({ file, ...mutant }));
}
