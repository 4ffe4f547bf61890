const SERVICE = 'src/sessions/sessions.service.ts';
const FEED = 'src/locking/record-feed.ts';
const MANAGER = 'src/locking/lock-manager.ts';
const SHARD = 'src/locking/shard.ts';
const DEADLINES = 'src/locking/deadlines.ts';
const FEED_SPEC = 'src/locking/record-feed.spec.ts';
const INSTANCES_SPEC = 'src/locking/lock-manager.instances.spec.ts';
const TABLE = 'src/sessions/session-table.ts';
const SESSIONS_SPEC = 'test/e2e/instances-sessions.spec.ts';
const BINDINGS = 'src/subscriptions/bindings.ts';
const BIND_SPEC = 'test/e2e/instances-bind.spec.ts';
const GAP_SPEC = 'test/e2e/instances-gap.spec.ts';

/** What a watch has missed. */
const gaps = [
  {
    name: 'after a compaction those who listen are told that something was missed',
    file: FEED,
    find: 'if (shown !== undefined) this.target.missed(partition, shown, listing.setBack);',
    replace: '',
    tests: [FEED_SPEC],
  },
  {
    name: 'a record that a reading has brought up to date was not shown for that',
    file: FEED,
    find: 'this.progress.reach(partition, changes[0]!.revision);',
    replace: 'this.progress.reach(partition, Infinity);',
    tests: [FEED_SPEC],
  },
  {
    name: 'what did not change in a gap is left alone',
    file: MANAGER,
    find: 'revision === 0 || revision > afterRevision',
    replace: 'true',
    tests: [FEED_SPEC],
  },
  {
    name: 'of what is not there nobody knows whether it changed',
    file: MANAGER,
    find: 'revision === 0 || revision > afterRevision',
    replace: 'revision > afterRevision',
    tests: [FEED_SPEC],
  },
  {
    name: 'who listens to a record that was read later is told then',
    file: SHARD,
    find: '    this.context.caughtUp(slot);\n',
    replace: '',
    tests: [FEED_SPEC],
  },
  {
    name: 'long polls look again after a gap',
    file: 'src/subscriptions/resource-listeners.ts',
    find: 'if (gap.concerns(resourceId)) for',
    replace: 'if (gap === undefined) for',
    tests: [GAP_SPEC],
  },
  {
    name: 'streams of a key that changed in a gap are cut',
    file: 'src/subscriptions/key-audiences.ts',
    find: 'if (!gap.concerns(resourceId)) continue;',
    replace: 'if (gap) continue;',
    tests: [GAP_SPEC],
  },
  {
    name: 'streams of everything are cut after a gap',
    file: 'src/subscriptions/everything.service.ts',
    find: 'observer.destroy();',
    replace: 'void observer;',
    tests: [GAP_SPEC],
  },
];

/** Time that every instance counts for itself. */
const time = [
  {
    name: 'time does not count while the changes of the store are not seen',
    file: DEADLINES,
    find: 'if (!this.paused) this.watchedMs',
    replace: 'this.watchedMs',
    tests: [INSTANCES_SPEC],
  },
  {
    name: 'an interruption is an interruption',
    file: FEED,
    find: 'interrupted: (cause) => this.silent(partition, cause),',
    replace: '',
    tests: [INSTANCES_SPEC],
  },
  {
    name: 'between a compaction and the end of the listing nothing is watched',
    file: FEED,
    find: '        this.silent(partition, COMPACTED);\n',
    replace: '',
    tests: [INSTANCES_SPEC],
  },
  {
    name: 'readiness is red while the changes of the store are not seen',
    file: 'src/health/store.health.ts',
    find: 'if (!this.manager.isWatching)',
    replace: 'if (false)',
    tests: [GAP_SPEC],
  },
  {
    name: 'instances do not all expire in the same instant',
    file: MANAGER,
    find: 'this.random() * JITTER_MS',
    replace: '0',
    tests: [INSTANCES_SPEC],
  },
  {
    name: 'a waiter may have been heard of elsewhere since it was written',
    file: MANAGER,
    find: 'unheardMs: store.shared ? policy.waiterTtlMs / 2 : 0',
    replace: 'unheardMs: 0',
    tests: [INSTANCES_SPEC],
  },
];

/** Sessions that any instance may end, and one keeps. */
const sessions = [
  {
    name: 'a renewal is answered only while nobody can take the instance for dead',
    file: 'src/instances/heartbeat.ts',
    find: 'this.clock.monotonicMs() - this.sentMs < SURE_MS',
    replace: 'this.sentMs > 0',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'who was buried goes on under a new name',
    file: 'src/instances/heartbeat.ts',
    find: 'if (this.revision === 0) this.id = newId();',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a watch that lags buries nobody',
    file: 'src/instances/instances.ts',
    find: 'this.records.delete(instance.id, instance.revision)',
    replace: 'this.records.revisionOf(instance.id).then((now) => this.records.delete(instance.id, now))',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a session runs out only where it is attached while that instance lives',
    file: TABLE,
    find: '&& this.instances.isElsewhere(record.instanceId)',
    replace: '&& false',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'the sessions of a dead instance run out',
    file: TABLE,
    find: '&& this.instances.isElsewhere(record.instanceId)',
    replace: '&& !this.isHere(session)',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a death starts the time of its sessions',
    file: TABLE,
    find: 'if (session.record?.instanceId === id && !session.record.ended) this.countDown(session);',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a renewal elsewhere moves the session',
    file: TABLE,
    find: 'return record?.instanceId === this.heartbeat.instanceId;',
    replace: 'return record !== undefined;',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a session that is not known here is looked for in the store',
    file: SERVICE,
    find: 'if (!this.store.shared || known',
    replace: 'if (!known || known',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a renewal rests on the store itself',
    file: SERVICE,
    find: '    if (this.store.shared) await this.table.look(id);\n',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'only one ends a session, and not one that has moved',
    file: 'src/sessions/session-endings.ts',
    find: 'if (this.store.shared && !(await this.mark(session, error))) return false;',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'nobody is refused for a session before its end is certain',
    file: SERVICE,
    find: 'known?.isOpen || known?.record?.ended',
    replace: 'known?.record',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a renewal is not answered from memory while the session is being ended',
    file: 'src/sessions/session.ts',
    find: '!this.record.ended && !this.ending;',
    replace: '!this.record.ended;',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'a session has ended only when what it was granted elsewhere has',
    file: 'src/sessions/session-endings.ts',
    find: '    await this.learnKeys(session);\n',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'what a session was granted while it was ended is given up',
    file: 'src/sessions/session-endings.ts',
    find: 'if (this.store.shared && !session) return this.table.addOrphan(sessionId, nodeId);',
    replace: 'if (this.store.shared && !session) return;',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'what is held without a record of its session is given up',
    file: TABLE,
    find: 'if (this.keys.keysOf(session.id).length > 0) this.addOrphan(session.id, session.nodeId);',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'an embedded store sees no heartbeats',
    file: 'src/instances/heartbeat.ts',
    find: 'if (!this.store.shared) return;',
    replace: '',
    tests: [SESSIONS_SPEC],
  },
  {
    name: 'session keys are forgotten after a gap',
    file: 'src/sessions/session-keys.ts',
    find: '      this.prune(key);\n    }\n  }',
    replace: '    }\n  }',
    tests: [GAP_SPEC],
  },
];

/** What is bound to a stream at one of them. */
const bindings = [
  {
    name: 'an instance leaves alone what is bound to a stream elsewhere',
    file: BINDINGS,
    find: 'if (boundAt === undefined || this.instances.isElsewhere(boundAt)) return undefined;',
    replace: 'if (boundAt === undefined) return undefined;',
    tests: [BIND_SPEC],
  },
  {
    name: 'a stream that was opened elsewhere meanwhile keeps its hold',
    file: 'src/core/liveness.ts',
    find: '  if (hasMoved(hold, command)) return NOTHING_CHANGED;\n',
    replace: '',
    tests: [BIND_SPEC],
  },
  {
    name: 'a binding names the instance where the stream was opened last',
    file: 'src/core/liveness.ts',
    find: 'if (hold && hold.boundAt !== boundAt) {',
    replace: 'if (hold && hold.boundAt === undefined) {',
    tests: [BIND_SPEC],
  },
  {
    name: 'what was bound to an instance that is gone ends',
    file: BINDINGS,
    find: '    await inTurns(this.manager.resources(), (resource) => this.found(resource));\n',
    replace: '    await inTurns([], () => undefined);\n',
    tests: [BIND_SPEC],
  },
  {
    name: 'streams are bound again under the new name of their instance',
    file: BINDINGS,
    find: 'for (const bound of this.bound.values()) if (bound.streams > 0) this.bindAgain(bound);',
    replace: '',
    tests: [BIND_SPEC],
  },
];

export const instanceMutants = [...gaps, ...time, ...sessions, ...bindings];
