/** Rules of the design: what a subscriber is told when it comes. */
const opening = [
  {
    name: 'a dismissal is told to its asker',
    find: 'if (dismissal) tell(ofOutcome(dismissal.outcome));',
    replace: '',
  },
  {
    name: 'who was handed the lock is told so',
    find: 'if (asker && key.hold && sameAsker(key.hold, asker)) tell(ofHold(key.hold));',
    replace: '',
  },
  {
    name: "another's hold is not told",
    find: 'sameAsker(key.hold, asker)) tell',
    replace: 'true) tell',
  },
  {
    name: 'a success that was missed is told also when something newer is',
    find: '[key.success && ofOutcome(key.success), newestEvent(key)]',
    replace: '[newestEvent(key)]',
  },
  {
    name: 'the newest event is told to who missed it',
    find: '[key.success && ofOutcome(key.success), newestEvent(key)]',
    replace: '[key.success && ofOutcome(key.success)]',
  },
  {
    name: 'what was seen is not told again',
    find: 'missed && isLater(missed.moment, lastSeen)',
    replace: 'missed',
  },
  {
    name: 'an old success is not told while the key is held',
    find: '!key.hold && key.lanes.length === 0',
    replace: 'key.lanes.length === 0',
  },
  {
    name: 'an old success is not told while somebody waits',
    find: '!key.hold && key.lanes.length === 0',
    replace: '!key.hold',
  },
  {
    name: 'a success is not told after a failure',
    find: '&& key.success && !key.failure',
    replace: '&& key.success',
  },
  {
    name: 'a pull that is there is told to be',
    find: 'tell(ofReferences(state, key, asOf, policy));',
    replace: '',
  },
  {
    name: 'nothing is told twice',
    find: 'event && !told.some(({ moment }) => sameMoment(moment, event.moment))',
    replace: 'event',
  },
  {
    name: 'the oldest is told first',
    find: 'return told.sort((a, b) => (isLater(a.moment, b.moment) ? 1 : -1));',
    replace: 'return told;',
  },
  {
    name: 'a hand-over that is not claimed is worth asking for',
    find: '!blocking || !blocking.claimed',
    replace: '!blocking',
  },
  {
    name: 'a free key is worth asking for',
    find: '!blocking || !blocking.claimed',
    replace: 'blocking !== undefined && !blocking.claimed',
  },
  {
    name: 'only a hand-over is an event, not a grant that was asked for',
    find: 'key.hold?.ticket && ofHold(key.hold)',
    replace: 'key.hold && ofHold(key.hold)',
  },
  {
    name: 'a fatal failure that was missed is told',
    find: 'key.failure && ofOutcome(key.failure),',
    replace: '',
  },
  {
    name: 'of several events the newest is told',
    find: '(isLater(a.moment, b.moment) ? -1 : 1))[0]',
    replace: '(isLater(a.moment, b.moment) ? 1 : -1))[0]',
  },
  {
    name: 'references say nothing where the clients count',
    find: "policy.refcountMode === 'server' && skipsWhenReferenced(key.type)",
    replace: 'skipsWhenReferenced(key.type)',
  },
  {
    name: 'references say nothing of other types',
    find: "policy.refcountMode === 'server' && skipsWhenReferenced(key.type)",
    replace: "policy.refcountMode === 'server'",
  },
  {
    name: 'references say nothing beside a delete',
    find: '|| isDeleteHeld(state) ||',
    replace: '||',
  },
  {
    name: 'references say nothing of a pull that is held',
    find: ' || blockingHold(state, key.type, policy)) return undefined',
    replace: ') return undefined',
  },
  {
    name: 'a recorded success stands for the references',
    find: 'if (key.success) return ofOutcome(key.success);',
    replace: '',
  },
  {
    name: 'a pull was done when its earliest reference came',
    find: 'atMs: sinceMs ?? 0',
    replace: 'atMs: 0',
  },
];

export const openingMutants = opening.map((mutant) => ({ file: 'src/core/opening.ts', ...mutant }));
