/** What the rules are built of: queues, lists, moments, tickets, texts. */
const queue = [
  {
    name: 'an unknown subtype has no lane of its own',
    find: 'subtype !== undefined && policy.lanes.includes(subtype) ? subtype',
    replace: 'subtype !== undefined ? subtype',
  },
  {
    name: 'lanes are served in their order',
    find: 'key.lanes.toSorted((a, b) => order(a) - order(b))',
    replace: 'key.lanes',
  },
  {
    name: 'the position counts the lanes before',
    find: 'before += lane.waiters.size;',
    replace: '',
  },
  {
    name: 'the earliest head is served first',
    find: 'isLater(earliest.waiter.ticket, waiter.ticket)',
    replace: 'isLater(waiter.ticket, earliest.waiter.ticket)',
  },
  {
    name: 'lanes without a place are served last',
    find: 'index < 0 ? policy.lanes.length : index',
    replace: 'index',
  },
];

const step = [
  { name: 'an idle key is dropped', find: 'if (isIdleKey(key)) {', replace: 'if (false) {' },
  {
    name: 'an empty lane is dropped',
    find: '.filter((lane) => lane.waiters.size > 0);',
    replace: ';',
  },
  {
    name: 'chunks have names of their own',
    find: 'this.draft.nextChunkId++',
    replace: 'this.draft.nextChunkId',
  },
  {
    name: 'events are numbered',
    find: 'this.draft.pendingEvents++;',
    replace: '',
  },
  {
    name: 'the count is null when the clients count',
    find: "this.policy.refcountMode === 'server' ? this.state.references.size : null",
    replace: 'this.state.references.size',
  },
];

const state = [
  { name: 'a key with a hold is not idle', find: '!key.hold &&\n    key.lanes', replace: 'key.lanes' },
  { name: 'a key with waiters is not idle', find: 'key.lanes.length === 0 &&\n', replace: '' },
  { name: 'a remembered success keeps its key', find: '!key.success &&\n', replace: '' },
  { name: 'a remembered failure keeps its key', find: '!key.failure &&\n', replace: '' },
  { name: 'an untold dismissal keeps its key', find: 'key.dismissals.size === 0 &&\n', replace: '' },
  { name: 'a remembered release keeps its key', find: ' &&\n    !key.lastRelease', replace: '' },
  {
    name: 'a referenced resource is not idle',
    find: 'state.keys.length === 0 && state.references.size === 0',
    replace: 'state.keys.length === 0',
  },
  {
    name: 'who was dismissed together shares one outcome',
    find: 'previous?.marked.outcome === dismissal.outcome\n        ? previous.settled.outcome\n        : settleOutcome',
    replace: 'settleOutcome',
  },
  {
    name: 'the token of an outcome is settled',
    find: 'settleRevision(outcome.token, revision)',
    replace: 'outcome.token',
  },
  {
    name: 'the ticket of a waiter is settled',
    find: 'ticket: settleMoment(waiter.ticket, revision),',
    replace: '',
  },
];

const settle = [
  {
    name: 'the numbering of events starts again with each commit',
    find: 'pendingEvents: 0',
    replace: 'pendingEvents: state.pendingEvents',
  },
  {
    name: 'a renewed hold is settled though its token is old',
    find: 'if (hold.token !== THIS_COMMIT && hold.renewed !== THIS_COMMIT) return hold;',
    replace: 'if (hold.token !== THIS_COMMIT) return hold;',
  },
  {
    name: 'the token of the last release is settled',
    find: 'token: settleRevision(release.token, revision),',
    replace: 'token: release.token,',
  },
  {
    name: 'the moment of the last release is settled',
    find: 'moment: settleMoment(release.moment, revision),',
    replace: 'moment: release.moment,',
  },
  {
    name: 'the ticket of a hold is settled',
    find: 'ticket: hold.ticket && settleMoment(hold.ticket, revision),',
    replace: '',
  },
  {
    name: 'the ticket of an answer is settled',
    find: 'ticket: settleMoment(result.ticket, revision),',
    replace: 'ticket: result.ticket,',
  },
  {
    name: 'the token of an answer is settled',
    find: 'token: settleRevision(result.token, revision),\n',
    replace: 'token: result.token,\n',
  },
  {
    name: 'the token of a renewal is settled, too',
    find: 'token: settleRevision(result.token, revision), leaseMs',
    replace: 'token: result.token, leaseMs',
  },
  {
    name: 'the token of an event is settled',
    find: 'settleRevision(event.token, revision)',
    replace: 'event.token',
  },
];

const moment = [
  {
    name: 'what is being committed is later than what was',
    find: 'revision === THIS_COMMIT ? Number.MAX_SAFE_INTEGER : revision',
    replace: 'revision',
  },
  {
    name: 'events of one commit are ordered by number',
    find: ' || (a.revision === b.revision && a.n > b.n)',
    replace: '',
  },
  {
    name: 'nothing is later than itself',
    find: 'a.n > b.n',
    replace: 'a.n >= b.n',
  },
];

const chunkedList = [
  {
    name: 'chunks are closed when full',
    find: 'if (!open || open.bytes + bytes > CHUNK_BYTES) {',
    replace: 'if (!open) {',
  },
  {
    name: 'a chunk may be exactly full',
    find: 'open.bytes + bytes > CHUNK_BYTES',
    replace: 'open.bytes + bytes >= CHUNK_BYTES',
  },
  {
    name: 'a full chunk is not written again',
    find: 'chunks.push(unchanged ? last : { ...open, revision: THIS_COMMIT });',
    replace: 'chunks.push({ ...open, revision: THIS_COMMIT });',
  },
  {
    name: 'the first entry of a chunk is measured alone',
    find: 'bytes: this.shape.bytes(entry, undefined), entries: [entry]',
    replace: 'bytes, entries: [entry]',
  },
  { name: 'removals do not make room', find: 'open.bytes += bytes;', replace: '' },
  { name: 'the rank counts the chunks before', find: 'before += chunk.entries.length;', replace: '' },
  {
    name: 'an empty chunk is dropped',
    find: 'const changed = entries.length > 0 ? [{ ...chunk, revision: THIS_COMMIT, entries }] : []',
    replace: 'const changed = [{ ...chunk, revision: THIS_COMMIT, entries }]',
  },
  {
    name: 'a changed chunk is written again',
    find: 'const changed = entries.length > 0 ? [{ ...chunk, revision: THIS_COMMIT, entries }] : []',
    replace: 'const changed = entries.length > 0 ? [{ ...chunk, entries }] : []',
  },
  {
    name: 'a list from which nothing is dropped stays the same',
    find: 'if (from === 0 && kept <= 0) return this;',
    replace: '',
  },
  {
    name: 'dropping stops in the middle of a chunk',
    find: 'if (boundary && kept > 0) {',
    replace: 'if (false) {',
  },
  {
    name: 'settled chunks are left alone',
    find: 'if (chunk.revision !== THIS_COMMIT) return chunk;',
    replace: '',
  },
  {
    name: 'a session is part of the asker',
    find: 'a.nodeId === b.nodeId && a.sessionId === b.sessionId',
    replace: 'a.nodeId === b.nodeId',
  },
  {
    name: 'a session is part of the asker’s key',
    find: 'asker.sessionId === undefined ? asker.nodeId : `${asker.nodeId}\\u0000${asker.sessionId}`',
    replace: 'asker.nodeId',
  },
];

const text = [
  {
    name: 'quotes and backslashes are escaped',
    find: 'code === 0x22 || code === 0x5c',
    replace: 'code === 0x22',
  },
  { name: 'short escapes are short', find: 'SHORT_ESCAPES.has(code) ? 2 : 6', replace: '6' },
  { name: 'lone surrogates are escaped', find: 'isHigh(code) || isLow(code) ? 6 : 3', replace: '3' },
  {
    name: 'a text is not cut in the middle of a character',
    find: 'for (const character of text) {',
    replace: "for (const character of text.split('')) {",
  },
  {
    name: 'a text may fit exactly',
    find: 'if (bytes > maxBytes) break;',
    replace: 'if (bytes >= maxBytes) break;',
  },
];

const fnv1a = [
  {
    name: 'a lone surrogate counts as U+FFFD',
    find: 'code >= 0xd800 && code <= 0xdfff ? 0xfffd : code',
    replace: 'code',
  },
  { name: 'a pair of surrogates is one character', find: 'if (code > 0xffff) i++;', replace: '' },
  { name: 'the hash is not negative', find: 'return hash >>> 0;', replace: 'return hash;' },
];

const ticket = [
  {
    name: 'another key’s ticket is bad input',
    find: "if (key !== fingerprint(`${type}:${resourceId}`))\n    return { kind: 'invalid', error: 'belongs to another key' };",
    replace: '',
  },
  {
    name: 'another node’s ticket is foreign',
    find: "if (node !== fingerprint(nodeId)) return { kind: 'foreign' };",
    replace: '',
  },
  {
    name: 'a revision that is no safe integer is bad input',
    find: ' || !Number.isSafeInteger(Number(revision))',
    replace: '',
  },
  { name: 'a ticket ends where it ends', find: '([0-9a-z]+)$/', replace: '([0-9a-z]+)/' },
  { name: 'the revision 0 is no revision', find: '/^([1-9]', replace: '/^([0-9]' },
];

export const buildingBlockMutants = [
  ...inFile('src/core/queue.ts', queue),
  ...inFile('src/core/step.ts', step),
  ...inFile('src/core/state.ts', state),
  ...inFile('src/core/settle.ts', settle),
  ...inFile('src/core/moment.ts', moment),
  ...inFile('src/core/chunked-list.ts', chunkedList),
  ...inFile('src/core/text.ts', text),
  ...inFile('src/core/fnv1a.ts', fnv1a),
  ...inFile('src/core/ticket.ts', ticket),
];

function inFile(file, mutants) {
  return mutants.map((mutant) => ({ file, ...mutant }));
}
