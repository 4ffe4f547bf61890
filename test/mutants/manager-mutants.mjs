const SHARD = 'src/locking/shard.ts';
const ROUNDS = 'src/locking/commit-rounds.ts';
const SLOT = 'src/locking/resource-slot.ts';
const FEED = 'src/locking/record-feed.ts';
const LISTING = 'src/locking/record-listing.ts';
const MANAGER = 'src/locking/lock-manager.ts';
const CLOCK = 'src/locking/key-clock.ts';
const DEADLINES = 'src/locking/deadlines.ts';
const RECORD = 'src/locking/records/record.ts';
const ENCODE = 'src/locking/records/encode-record.ts';
const UNITS = 'src/locking/records/head-units.ts';
const LATER = 'src/locking/records/later-text.ts';
const LISTS = 'src/locking/records/lists.ts';
const BATCH = 'src/locking/batch.ts';
const OWN = 'src/locking/own-commits.ts';
const COUNTED = 'src/locking/counted-references.ts';

const STORE_SPEC = 'src/locking/lock-manager.store.spec.ts';
const STALE_SPEC = 'src/locking/lock-manager.stale.spec.ts';
const DEADLINES_SPEC = 'src/locking/lock-manager.deadlines.spec.ts';
const MANAGER_SPEC = 'src/locking/lock-manager.spec.ts';
const FEED_SPEC = 'src/locking/record-feed.spec.ts';
const RECORD_SPEC = 'src/locking/records/record.spec.ts';
const CLOCK_SPEC = 'src/locking/key-clock.spec.ts';
const COUNTED_SPEC = 'src/locking/counted-references.spec.ts';
const OWN_SPEC = 'src/locking/own-commits.spec.ts';
const SLOT_SPEC = 'src/locking/resource-slot.spec.ts';
const MANAGERS = 'test/property/managers';

/** Slots at rest. */
const resting = [
  {
    name: 'a resting slot remembers since when it is held',
    file: SLOT,
    find: 'KeyClock.resumed(key, this.heldSinceMs)',
    replace: 'KeyClock.resumed(key, Infinity)',
    tests: [SLOT_SPEC],
  },
  {
    name: 'a slot with a waiter or a memory does not rest',
    file: CLOCK,
    find: 'return this.hold !== undefined && !this.marks && !this.waiters;',
    replace: 'return true;',
    tests: [SLOT_SPEC],
  },
  {
    name: 'a slot with two holds does not rest',
    file: SLOT,
    find: 'clocks.length > 1 ||',
    replace: '',
    tests: [SLOT_SPEC],
  },
  {
    name: 'a record in several parts does not rest',
    file: SLOT,
    find: ' || !isWholeInHead(record)',
    replace: '',
    tests: [SLOT_SPEC, MANAGERS],
  },
  {
    name: 'what was used again is passed over once',
    file: 'src/locking/recent-slots.ts',
    find: "      slot.recency = 'used again';\n",
    replace: '',
    tests: [SLOT_SPEC],
  },
  {
    name: 'a slot can rest after what was due in it',
    file: SHARD,
    find: 'deadlines.now() + RETRY_MS) : next);\n    this.leave(slot);',
    replace: 'deadlines.now() + RETRY_MS) : next);',
    tests: [SLOT_SPEC],
  },
];

/** Serialising, combining and committing. */
const committing = [
  {
    name: 'a conflict is noticed',
    file: ROUNDS,
    find: "if (outcome.status === 'committed') return this.land(slot, work, attempt, outcome.revision);",
    replace:
      "if (outcome.status !== 'unknown') return this.land(slot, work, attempt, outcome.revision ?? 1);",
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a conflict is noticed by any history',
    file: ROUNDS,
    find: "if (outcome.status === 'committed') return this.land(slot, work, attempt, outcome.revision);",
    replace:
      "if (outcome.status !== 'unknown') return this.land(slot, work, attempt, outcome.revision ?? 1);",
    tests: [MANAGERS],
  },
  {
    name: 'an unknown commit is not taken for one that was made',
    file: ROUNDS,
    find: "if (outcome.status === 'committed') return this.land(slot, work, attempt, outcome.revision);",
    replace:
      "if (outcome.status !== 'conflict') return this.land(slot, work, attempt, outcome.revision ?? 1);",
    tests: [STORE_SPEC, STALE_SPEC, MANAGERS],
  },
  {
    name: 'a writer recognises its own commit',
    file: ROUNDS,
    find: 'if (own) own.revision = record.revision;',
    replace: '',
    tests: [STORE_SPEC, STALE_SPEC, MANAGERS],
  },
  {
    name: 'a writer recognises also an earlier try of its own',
    file: ROUNDS,
    find: 'const own = work.inFlight.find((attempt) => attempt.commitId === commitId);',
    replace: 'const own = work.inFlight.slice(-1).find((last) => last.commitId === commitId);',
    tests: [STORE_SPEC, STALE_SPEC, MANAGERS],
  },
  {
    name: 'an answer that commits nothing rests on a linearizable get',
    file: ROUNDS,
    find: 'if (!(await this.isCurrent(slot, base))) return false;',
    replace: '',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'an answer that commits nothing rests on a linearizable get, in any history',
    file: ROUNDS,
    find: 'if (!(await this.isCurrent(slot, base))) return false;',
    replace: '',
    tests: [MANAGERS],
  },
  {
    name: 'a first try that another has overtaken is made again',
    file: ROUNDS,
    find: '.then(() => again(false))',
    replace: '.then(() => again(true))',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a command that cannot be decided is refused, and the next goes on',
    file: ROUNDS,
    find: '    } catch (error) {\n      fail(error);\n    }',
    replace: '    } catch (error) {\n      void error;\n    }',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a failed commit rejects its askers',
    file: ROUNDS,
    find: 'for (const pending of work.inbox.splice(0)) pending.reject(error);',
    replace: 'work.inbox.length = 0;',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'combining stops before a second grant',
    file: BATCH,
    find: 'if (granted && (grants || isOfThisCommit(next.result))) break;',
    replace: '',
    tests: ['src/locking/batch.spec.ts', MANAGER_SPEC],
  },
  {
    name: 'combining stops before a second grant, in any storm',
    file: BATCH,
    find: 'if (granted && (grants || isOfThisCommit(next.result))) break;',
    replace: '',
    tests: [MANAGERS],
  },
  {
    name: 'combining stops before a renewal of what it grants',
    file: BATCH,
    find: 'grants || isOfThisCommit(next.result)',
    replace: 'grants',
    tests: ['src/locking/batch.spec.ts'],
  },
  {
    name: 'combining stops before the events crowd the record',
    file: BATCH,
    find: 'if (bytes > MAX_EVENT_BYTES) break;',
    replace: '',
    tests: ['src/locking/batch.spec.ts'],
  },
  {
    name: 'commands that arrive together are combined',
    file: ROUNDS,
    find: 'length: inbox.length,',
    replace: 'length: 1,',
    tests: [MANAGER_SPEC],
  },
  {
    name: 'a store that throws rejects',
    file: 'src/locking/committer.ts',
    find: 'return commits.map(() => Promise.reject(error));',
    replace: 'throw error;',
    tests: [STORE_SPEC, STALE_SPEC],
  },
];

/** Keeping up with the store. */
const following = [
  {
    name: 'events are published from the change feed, not by whoever made the commit',
    file: 'src/locking/lock-manager.ts',
    find: 'publish: (happened) => this.bus.publish(happened),',
    replace:
      'publish: (all) => this.bus.publish(all.filter(({ resourceId: id }) => this.shardOf(id).find(id)?.work)),',
    tests: [FEED_SPEC, MANAGERS],
  },
  {
    name: 'a commit of its own is published once, from the feed',
    file: FEED,
    find: '        happened.push(own);',
    replace: '        this.target.publish([own]);\n        happened.push(own);',
    tests: [FEED_SPEC, MANAGER_SPEC],
  },
  {
    name: 'another manager in this process has commits of its own',
    file: FEED,
    find: 'by instanceof Work && by.keeper.own === this.target.own',
    replace: 'by instanceof Work',
    tests: ['src/locking/lock-manager.instances.spec.ts'],
  },
  {
    name: 'other processes learn of what happened from the record',
    file: ROUNDS,
    find: 'othersRead: !store.exclusive',
    replace: 'othersRead: false',
    tests: [FEED_SPEC],
  },
  {
    name: 'a commit that was answered is known again when the feed shows it, by its id and its revision',
    file: OWN,
    find: 'return attempt.revision === revision ? attempt : undefined;',
    replace: 'return attempt;',
    tests: [OWN_SPEC],
  },
  {
    name: 'commits that the feed does not show are not kept for ever',
    file: OWN,
    find: '    if (this.unshown.size >= MOST_KEPT) this.unshown.clear();\n',
    replace: '',
    tests: [OWN_SPEC],
  },
  {
    name: 'commits of others are published',
    file: FEED,
    find: '    return { resourceId, events: head.events(',
    replace: '    return slot ? undefined : { resourceId, events: head.events(',
    tests: [FEED_SPEC, MANAGERS],
  },
  {
    name: 'the feed tells a writer of its own commit, whoever has written since',
    file: SHARD,
    find: '    attempt.revision = revision;\n',
    replace: '',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'what the feed shows of its own commit is adopted, whatever becomes of the answer',
    file: FEED,
    find: '  keeper.adoptOwn(slot, attempt, revision);\n',
    replace: '',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a reading that was overtaken by the feed does not undo it',
    file: ROUNDS,
    find: 'const overtaken = slot.asOf !== asOf;',
    replace: 'const overtaken = false;',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a deletion is remembered while a commit is on its way',
    file: SHARD,
    find: 'if (revision <= slot.asOf) return;',
    replace: 'if (revision <= slot.record.revision) return;',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a record whose parts were not listed together is read again',
    file: LISTING,
    find: 'if (!complete) return this.target.shardOf(resourceId).miss(resourceId, head.revision);',
    replace: 'if (!complete) return;',
    tests: [FEED_SPEC],
  },
  {
    name: 'what could not be read is read later',
    file: SLOT,
    find: 'if (this.isBehind || this.isOver(nowMs, policy)) yield LOOK;',
    replace: 'if (this.isOver(nowMs, policy)) yield LOOK;',
    tests: [FEED_SPEC],
  },
  {
    name: 'a listing that fails is tried again',
    file: FEED,
    find: 'this.clock.after(RETRY_MS, () => this.followAgain(partition));',
    replace: '',
    tests: [FEED_SPEC],
  },
  {
    name: 'after a compaction everything is listed again',
    file: FEED,
    find: '        this.followAgain(partition);\n      },',
    replace: '      },',
    tests: [FEED_SPEC],
  },
  {
    name: 'after a compaction what is gone is forgotten',
    file: LISTING,
    find: '    for (const resourceId of this.unlisted) this.adopt(resourceId, NO_RECORD, cursor);\n',
    replace: '',
    tests: [FEED_SPEC],
  },
  {
    name: 'what the store has lost is forgotten',
    file: SHARD,
    find: 'const isSetBack = slot.asOf === seenAsOf && revision < seenAsOf;',
    replace: 'const isSetBack = false;',
    tests: [FEED_SPEC],
  },
  {
    name: 'what was learnt while a listing was read is not taken for lost',
    file: SHARD,
    find: 'slot.asOf === seenAsOf && revision < seenAsOf',
    replace: 'revision < slot.asOf',
    tests: [FEED_SPEC],
  },
  {
    name: 'those who listen to what went back are told',
    file: MANAGER,
    find: '(setBack.has(resourceId) || changed(this.revisionOf(resourceId)))',
    replace: 'changed(this.revisionOf(resourceId))',
    tests: [FEED_SPEC],
  },
  {
    name: 'a commit of which nobody knows is not made again before the feed has shown what became of it',
    file: ROUNDS,
    find: '    if (record !== NO_RECORD) await shownUpTo(partition, record.revision);\n',
    replace: '',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'a commit of which nobody knows is not made again when the feed has a gap',
    file: ROUNDS,
    find: 'doubtful.listings === listingsOf(partition)',
    replace: 'true',
    tests: [STORE_SPEC, STALE_SPEC],
  },
  {
    name: 'an observer does not throw at what another version wrote',
    file: FEED,
    find: '  } catch {\n    return undefined;',
    replace: '  } catch (error) {\n    throw error;',
    tests: [FEED_SPEC],
  },
  {
    name: 'who was stopped watches nothing',
    file: FEED,
    find: '    if (this.stopped) return;\n    const watch',
    replace: '    const watch',
    tests: [FEED_SPEC],
  },
];

/** Deadlines. */
const expiring = [
  {
    name: 'time in which the process was stopped does not count',
    file: DEADLINES,
    find: 'Math.min(seen - this.lastSeenMs, MAX_STEP_MS)',
    replace: 'seen - this.lastSeenMs',
    tests: ['src/locking/deadlines.spec.ts', DEADLINES_SPEC],
  },
  {
    name: 'the heap is a heap after a removal',
    file: DEADLINES,
    find: '    this.place(last, index);\n    this.settle(index);',
    replace: '    this.place(last, index);\n    this.siftDown(index);',
    tests: ['src/locking/deadlines.spec.ts'],
  },
  {
    name: 'there is one timer',
    file: DEADLINES,
    find: '    this.timer?.cancel();\n    const now = this.now();',
    replace: '    const now = this.now();',
    tests: ['src/locking/deadlines.spec.ts'],
  },
  {
    name: 'a lease starts again when it is renewed, and only then',
    file: CLOCK,
    find: 'if (key.hold?.renewed !== this.hold?.renewed) this.holdSinceMs = nowMs;',
    replace: 'if (key.hold !== this.hold) this.holdSinceMs = nowMs;',
    tests: [CLOCK_SPEC],
  },
  {
    name: 'an expiry names the renewal it has seen',
    file: CLOCK,
    find: "return { kind: 'expire-hold', type, token: hold.token, renewed: hold.renewed, error };",
    replace: "return { kind: 'expire-hold', type, token: hold.token, renewed: hold.token, error };",
    tests: [CLOCK_SPEC, DEADLINES_SPEC],
  },
  {
    name: 'a request that writes nothing postpones the drop of its waiter',
    file: ROUNDS,
    find: 'if (clock?.watchesWaiters) clock.asked(command.asker, this.context.deadlines.now());',
    replace: 'void clock;',
    tests: [DEADLINES_SPEC],
  },
  {
    name: 'a waiter is written again after half of its time',
    file: ROUNDS,
    find: '? { ...command, touch: true }',
    replace: '? command',
    tests: [DEADLINES_SPEC],
  },
  {
    name: 'a waiter is written again only after half of its time',
    file: CLOCK,
    find: 'nowMs - clock.writtenMs >= policy.waiterTtlMs / 2',
    replace: 'nowMs - clock.writtenMs >= policy.waiterTtlMs / 4',
    tests: [CLOCK_SPEC, DEADLINES_SPEC],
  },
  {
    name: 'a waiter that left and came back elsewhere is watched',
    file: CLOCK,
    find: '    if (clocks.size === 0) this.waiters = undefined;',
    replace:
      '    for (const chunk of old.values()) for (const waiter of chunk.entries) if (!present.get(chunk.id)?.entries.includes(waiter)) clocks.delete(askerKey(waiter));',
    tests: [CLOCK_SPEC],
  },
  {
    name: 'memories have marks, not many',
    file: CLOCK,
    find: 'nowMs - last.openedMs < completionTtlMs / MARKS_PER_TTL ? marks.pop() : undefined',
    replace: 'nowMs < 0 ? marks.pop() : undefined',
    tests: [CLOCK_SPEC],
  },
  {
    name: 'memories are forgotten at most a sixteenth of their time late',
    file: CLOCK,
    find: 'last && nowMs - last.openedMs < completionTtlMs / MARKS_PER_TTL ? marks.pop() : undefined',
    replace: 'last ? marks.pop() : undefined',
    tests: [CLOCK_SPEC, DEADLINES_SPEC],
  },
  {
    name: 'a failing store is asked again at a bearable pace',
    file: SHARD,
    find: 'failed ? Math.max(next, deadlines.now() + RETRY_MS) : next',
    replace: 'next',
    tests: [DEADLINES_SPEC],
  },
  {
    name: 'an expiry that failed is tried again',
    file: SHARD,
    find: 'deadlines.schedule(slot, failed ? Math.max(next, deadlines.now() + RETRY_MS) : next);',
    replace: 'if (!failed) deadlines.schedule(slot, next);',
    tests: [DEADLINES_SPEC],
  },
  {
    name: 'what is due is dealt with once',
    file: SHARD,
    find: 'if (slot.expiring) return;',
    replace: '',
    tests: [DEADLINES_SPEC],
  },
  {
    name: 'an empty record is kept for its last events',
    file: SLOT,
    find: 'return this.idleEndMs(policy) <= nowMs;',
    replace: 'return this.idleEndMs(policy) < Infinity && nowMs >= 0;',
    tests: [MANAGER_SPEC],
  },
  {
    name: 'an empty record is dropped in the end',
    file: ROUNDS,
    find: 'isWritten: batch.state !== state || this.isOver(slot)',
    replace: 'isWritten: batch.state !== state',
    tests: [MANAGER_SPEC],
  },
  {
    name: 'a slot nobody uses goes',
    file: SHARD,
    find: '    this.slots.delete(slot.resourceId);\n',
    replace: '',
    tests: [MANAGER_SPEC],
  },
];

/** What is written, and how. */
const storing = [
  {
    name: 'a mark stands for the revision of its own item',
    file: LISTS,
    find: 'return readChunk(format, JSON.parse(part.text) as StoredChunk<E>, part.revision);',
    replace: 'return readChunk(format, JSON.parse(part.text) as StoredChunk<E>, revision);',
    tests: [RECORD_SPEC],
  },
  {
    name: 'a text that was not ended leaves nothing in the next',
    file: 'src/locking/records/json-writer.ts',
    find: '    this.length = 0;\n',
    replace: '',
    tests: ['src/locking/records/json-writer.spec.ts'],
  },
  {
    name: 'a text that is not ASCII is read as UTF-8',
    file: 'src/locking/records/json-writer.ts',
    find: '    this.isAscii = false;\n',
    replace: '',
    tests: ['src/locking/records/json-writer.spec.ts'],
  },
  {
    name: 'a text longer than the memory finds more of it',
    file: 'src/locking/records/json-writer.ts',
    find: '    this.bytes = larger;\n',
    replace: '',
    tests: ['src/locking/records/json-writer.spec.ts'],
  },
  {
    name: 'unchanged chunks are not written again',
    file: LISTS,
    find: 'const isChanged = chunk.revision === THIS_COMMIT;',
    replace: 'const isChanged = true;',
    tests: [RECORD_SPEC],
  },
  {
    name: 'no item is left behind',
    file: ENCODE,
    find: 'if (!parts.has(part)) writes.push({ key: partKey(resourceId, part), expect: revision, delete: true });',
    replace: '',
    tests: [RECORD_SPEC],
  },
  {
    name: 'keys that crowd the head become items',
    file: ENCODE,
    find: 'if (out.length > MAX_HEAD_BYTES)',
    replace: 'if (out.length < 0)',
    tests: [RECORD_SPEC],
  },
  {
    name: 'events that crowd the head become an item',
    file: ENCODE,
    find: '{ events: events.length > 0, keys: true }',
    replace: '{ events: false, keys: true }',
    tests: [RECORD_SPEC],
  },
  {
    name: 'a head that may not fit is put into words at once',
    file: ENCODE,
    find: 'return units > SHORT_UNITS',
    replace: 'return units === Infinity',
    tests: [RECORD_SPEC],
  },
  {
    name: 'a head with lists is put into words at once',
    file: UNITS,
    find: 'references.size > 0 || ',
    replace: '',
    tests: [RECORD_SPEC, 'src/locking/'],
  },
  {
    name: 'what a head may take counts who had success',
    file: UNITS,
    find: 'if (success) texts += textsOf(success) + success.error.length;',
    replace: '',
    tests: [RECORD_SPEC],
  },
  {
    name: 'what a head may take counts who released last',
    file: UNITS,
    find: 'texts += textsOf(lastRelease) + lastRelease.error.length + lengthOf(lastRelease.nextHolder);',
    replace: 'texts += 0;',
    tests: [RECORD_SPEC],
  },
  {
    name: 'what a head may take counts the numbers of every key',
    file: UNITS,
    find: 'units += MOST_UNITS_OF_KEY;',
    replace: 'units = MOST_UNITS_OF_KEY;',
    tests: [RECORD_SPEC],
  },
  {
    name: 'a text that was made late is made once',
    file: LATER,
    find: 'if (this.text !== undefined) return this.text;',
    replace: '',
    tests: [RECORD_SPEC],
  },
  {
    name: 'a commit is known again by its words, where the store shows words',
    file: FEED,
    find: 'return head === value || head?.toString() === value.toString();',
    replace: 'return head === value;',
    tests: [FEED_SPEC],
  },
  {
    name: 'another format is refused',
    file: RECORD,
    find: 'if (head?.v !== FORMAT_VERSION) {',
    replace: 'if (!head) {',
    tests: [RECORD_SPEC],
  },
  {
    name: 'counts are written before the commit',
    file: ROUNDS,
    find: '      await references.save(',
    replace: '      void references.save(',
    tests: [COUNTED_SPEC],
  },
  {
    name: 'counts are read at the start of every step',
    file: COUNTED,
    find: 'return loaded ? { ...state, references: loaded } : state;',
    replace: 'return state;',
    tests: [COUNTED_SPEC],
  },
  {
    name: 'calls of the storage for one resource never overlap',
    file: COUNTED,
    find: 'this.calls.get(resourceId)?.then(turn, turn) ?? turn()',
    replace: 'turn()',
    tests: [COUNTED_SPEC],
  },
];

/** Each removes one promise of the manager; one of its tests must notice. */
export default [...resting, ...committing, ...following, ...expiring, ...storing];
