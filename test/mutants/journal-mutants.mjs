const DATABASE = 'src/stores/lmdb/journaled-database.ts';
const JOURNAL = 'src/stores/lmdb/journal.ts';
const FILE = 'src/stores/lmdb/journal-file.ts';
const FRAME = 'src/stores/lmdb/journal-frame.ts';
const LMDB = 'src/stores/lmdb/lmdb-database.ts';
const STORE = 'src/stores/lmdb/lmdb-state-store.ts';
const GROUP = 'src/stores/lmdb/group.ts';

const GROUP_SPEC = 'test/stores/group-committer.spec.ts';
const FRAME_SPEC = 'test/stores/journal-frame.spec.ts';
const JOURNAL_SPEC = 'test/stores/lmdb-journal.spec.ts';
const FAILURE_SPEC = 'test/stores/lmdb-disk-failure.spec.ts';
const FULL_SPEC = 'test/stores/lmdb-disk-full.spec.ts';
const CRASH_SPEC = 'test/stores/lmdb-crash.spec.ts';
const CRASH_POINTS_SPEC = 'test/stores/lmdb-crash-points.spec.ts';
const OWNERSHIP_SPEC = 'test/stores/lmdb-ownership.spec.ts';

/** What the `file:` store promises of its journal. */
export const journalMutants = [
  {
    name: 'commits of different calls have revisions of their own',
    file: GROUP,
    find: 'call !== undefined && call === this.call &&',
    replace: 'this.changes.size > 0 &&',
    tests: [GROUP_SPEC],
  },
  {
    name: 'a second write to a key of a group has a revision of its own',
    file: GROUP,
    find: ' && !writes.some(({ key }) => this.changes.has(key))',
    replace: '',
    tests: [GROUP_SPEC],
  },
  {
    name: 'commits are shown before they are acknowledged',
    file: 'src/stores/lmdb/group-committer.ts',
    find: '    this.show(waiting);\n',
    replace: '    setImmediate(() => this.show(waiting));\n',
    tests: [GROUP_SPEC],
  },
  {
    name: 'in memory, too, a key that was deleted is made anew at a later revision',
    file: 'src/stores/memory/memory-state-store.ts',
    find: "      if (writes.some((write) => 'delete' in write)) show();\n",
    replace: '',
    tests: ['test/stores/memory-state-store.spec.ts'],
  },
  {
    name: 'the next owner reads the journal',
    file: DATABASE,
    find: 'frames.flatMap((frame) => frame.changes)',
    replace: 'frames.slice(0, 0).flatMap((frame) => frame.changes)',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'revisions go on above those in the journal',
    file: DATABASE,
    find: ', frames.at(-1)?.revision ?? 0)',
    replace: ')',
    tests: [CRASH_SPEC],
  },
  {
    name: 'the journal is looked at before anything is changed',
    file: DATABASE,
    find: '      framesAfter(opening, found);\n',
    replace: '',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'journals of earlier owners are removed',
    file: DATABASE,
    find: '    for (const owner of abandoned) removeJournal(directory, owner);\n',
    replace: '',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'the record names the journal',
    file: LMDB,
    find: 'journal === undefined ? `${revision}` : `${revision} ${journal}`',
    replace: '`${revision}`',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a group is written only by the owner',
    file: DATABASE,
    find: "    if (before.status !== 'written') return before;\n",
    replace: '    void before;\n',
    tests: [OWNERSHIP_SPEC],
  },
  {
    name: 'a group is written only if ownership has not passed on meanwhile',
    file: DATABASE,
    find: "if (after.status !== 'written') {",
    replace: "if (after.status === 'unknown') {",
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a group that failed is refused only if ownership has not passed on meanwhile',
    file: DATABASE,
    find: "if (after.status !== 'written') {",
    replace: "if (after.status !== 'written' && appended.status === 'written') {",
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a journal that cannot be saved has a limit',
    file: DATABASE,
    find: 'while (this.journal.bytes >= FULL_AT_BYTES)',
    replace: 'while (this.journal.bytes < 0)',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'nothing is saved beside closing',
    file: DATABASE,
    find: 'if (this.isClosing) throw',
    replace: 'if (this.isClosing && this.revision < 0) throw',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a power cut leaves the names of a journal in use',
    file: JOURNAL,
    find: '    flushPath(directory);\n',
    replace: '    void flushPath;\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a power cut does not bring back what LMDB has taken back and written over',
    file: LMDB,
    find: '    try {\n      flushData(this.directory);\n',
    replace: '    try {\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a power cut does not bring back what LMDB had taken back before the start',
    file: LMDB,
    find: '      flushData(directory);\n',
    replace: '',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a power cut does not undo that a group was cut off',
    file: FILE,
    find: '      await flush(this.file);\n',
    replace: '      void flush;\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a kill does not bring back a group that was in doubt and has been decided',
    file: DATABASE,
    find: '    this.revision = revision;\n',
    replace: '',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a kill leaves an earlier journal until it is saved',
    file: DATABASE,
    find: '    const result = await database.write(changes.values(), { revision, journal: nonce });\n',
    replace:
      '    for (const owner of abandoned) removeJournal(directory, owner);\n    const result = await database.write(changes.values(), { revision, journal: nonce });\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a kill while it closes leaves the journal until it is saved',
    file: DATABASE,
    find: '    const { status } = await this.save(undefined);\n',
    replace: '    this.journal.remove();\n    const { status } = await this.save(undefined);\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a kill while it saves leaves the journal that is being saved',
    file: DATABASE,
    find: '    if (this.isOtherFree) this.journal.turnOver();\n',
    replace: '    void this.isOtherFree;\n    this.journal.turnOver();\n    this.journal.turnOver();\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'a kill while it makes the directory leaves one that the next start finishes',
    file: STORE,
    find: '    if (fresh) this.directory.beginCreation();\n    this.directory.assertWritable();\n',
    replace: '    this.directory.assertWritable();\n    if (fresh) this.directory.beginCreation();\n',
    tests: [CRASH_POINTS_SPEC],
  },
  {
    name: 'what is not saved is seen',
    file: DATABASE,
    find: 'this.unsaved.get(key) ?? this.beingSaved.get(key)',
    replace: 'this.beingSaved.get(key)',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'what is being saved is seen',
    file: DATABASE,
    find: 'this.unsaved.get(key) ?? this.beingSaved.get(key)',
    replace: 'this.unsaved.get(key)',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'what is being saved is listed',
    file: DATABASE,
    find: 'new Map([...this.beingSaved, ...this.unsaved]);\n  }\n\n  /** The saved',
    replace: 'new Map(this.unsaved);\n  }\n\n  /** The saved',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'of what is being saved and not saved the newer is listed',
    file: DATABASE,
    find: 'new Map([...this.beingSaved, ...this.unsaved]);\n  }\n\n  /** The saved',
    replace: 'new Map([...this.unsaved, ...this.beingSaved]);\n  }\n\n  /** The saved',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'an old value is not listed beside its newer one',
    file: STORE,
    find: 'page.filter(({ key }) => !unsaved.has(key))',
    replace: 'page',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'what could not be saved is not forgotten',
    file: DATABASE,
    find: 'this.unsaved = new Map([...this.beingSaved, ...this.unsaved]);\n    this.beingSaved',
    replace: 'this.unsaved = new Map(this.unsaved);\n    this.beingSaved',
    tests: [FULL_SPEC],
  },
  {
    name: 'a file is written over only when all of it is saved',
    file: DATABASE,
    find: 'if (this.isOtherFree) this.journal.turnOver();',
    replace: 'this.journal.turnOver();',
    tests: [FULL_SPEC],
  },
  {
    name: 'the journal is saved when it is long',
    file: DATABASE,
    find: 'if (this.journal.bytes >= SAVE_AT_BYTES)',
    replace: 'if (this.journal.bytes < 0)',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'the record says how far is saved only with the last of the changes',
    file: LMDB,
    find: 'await this.writeTogether(some);',
    replace: 'await this.writeTogether(some, record);',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a group in doubt is decided before anything else',
    file: DATABASE,
    find: "this.inDoubt = appended.status === 'unknown';",
    replace: 'this.inDoubt = false;',
    tests: [FAILURE_SPEC],
  },
  {
    name: 'a group that failed is cut off',
    file: FILE,
    find: '      await cut(this.file, end);\n',
    replace: '',
    tests: [FAILURE_SPEC],
  },
  {
    name: 'a write to the journal returns when it is on disk',
    file: FILE,
    find: ' | constants.O_DSYNC;',
    replace: ';',
    tests: [FAILURE_SPEC],
  },
  {
    name: 'where nothing can be written past the page cache, it is written through it',
    file: FILE,
    find: '    } catch {\n      this.reopen(FLAGS);\n',
    replace: '    } catch (error) {\n      if (bytes.length > 0) throw error;\n      this.reopen(FLAGS);\n',
    tests: [FAILURE_SPEC],
  },
  {
    name: 'a process without the memory to write past the page cache from writes through it',
    file: FILE,
    find: '    try {\n      const memory = blockMemory();\n',
    replace: '    const memory = blockMemory();\n    try {\n',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a long frame has room for the zeros behind it',
    file: FRAME,
    find: 'Buffer.allocUnsafe(wholeBlocks(bytes))',
    replace: 'Buffer.allocUnsafe(bytes)',
    tests: [FRAME_SPEC],
  },
  {
    name: 'what is behind a frame is nothing of an earlier one',
    file: FRAME,
    find: '.fill(0, at, end)',
    replace: '',
    tests: [FRAME_SPEC],
  },
  {
    name: 'a frame that is missing is noticed',
    file: JOURNAL,
    find: 'if (!follows) throw',
    replace: 'if (!follows && i < 0) throw',
    tests: [JOURNAL_SPEC],
  },
  {
    name: 'a frame is whole',
    file: FRAME,
    find: 'return checksum(bytes, start, end) === bytes.readUInt32LE(start + CHECKSUM_AT) ? end : undefined;',
    replace: 'return end;',
    tests: [FRAME_SPEC],
  },
  {
    name: 'a directory of the version before says that it has changed',
    file: STORE,
    find: '      if (this.directory.isOutdated) this.directory.declareFormat();\n',
    replace: '',
    tests: [JOURNAL_SPEC],
  },
];
