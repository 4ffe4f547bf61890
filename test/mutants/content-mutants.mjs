const NODE = 'src/content/content-node.ts';
const LOCKS = 'src/content/content-locks.ts';
const WRITER = 'src/content/content-writer.ts';
const REMOVER = 'src/content/remover.ts';
const REFERENCES = 'src/content/references.ts';
const STORE = 'src/content/store/content-store.ts';
const INGEST = 'src/content/store/ingest.ts';
const INGESTS = 'src/content/store/ingests.ts';
const TOKENS = 'src/content/store/token-marks.ts';
const TRASH = 'src/content/store/trash.ts';
const DIRECTORY = 'src/content/refcounts/directory-ref-count-storage.ts';

const OVERTAKEN_SPEC = 'test/content/overtaken.spec.ts';
const WRITER_SPEC = 'test/content/writer.spec.ts';
const STORE_SPEC = 'test/content/store.spec.ts';
const POWER_SPEC = 'test/content/power-cut.spec.ts';
const DIRECTORY_SPEC = 'test/content/directory-ref-count-storage.spec.ts';

/** Who may publish and remove. */
const fencing = [
  {
    name: 'a hold that the server has taken away publishes nothing',
    file: LOCKS,
    find: "if (holder?.token !== hold.token) throw stale(hold, new Error('the server does not know it any more'));",
    replace: '',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'a later token in the store stops an earlier holder',
    file: LOCKS,
    find: 'if (highest > hold.token) throw',
    replace: 'if (highest < 0) throw',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'a delete asks once more after it has moved the blob',
    file: REMOVER,
    find: '      await this.assertCurrentOr(hold, () => this.store.trash.putBack(marked));\n',
    replace: '',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'an overtaken delete puts back what it has moved',
    file: REMOVER,
    find: '      await undo();\n',
    replace: '',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'bytes are removed only under resource isolation',
    file: REMOVER,
    find: 'assertIsolating(isolation);',
    replace: 'void isolation;',
    tests: [STORE_SPEC],
  },
  {
    name: 'the highest token counts, not the last',
    file: TOKENS,
    find: 'if (lower < token) await',
    replace: 'if (lower !== token) await',
    tests: [STORE_SPEC],
  },
];

/** Who is counted, and when. */
const counting = [
  {
    name: 'whoever finds a blob looks again after being counted in',
    file: NODE,
    find: '(await this.store.has(digest)) && (await this.refs.add(digest)) && (await this.store.has(digest))',
    replace: '(await this.store.has(digest)) && (await this.refs.add(digest))',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'where this side counts, nobody is counted in while a delete is announced',
    file: REFERENCES,
    find: 'return !(await this.store.deleting.isSet(hexOf(digest)));',
    replace: 'return true;',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'a delete announces itself before it counts',
    file: REFERENCES,
    find: '    await this.store.deleting.set(hexOf(digest), token);\n',
    replace: '',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'where this side counts, a delete is refused while anybody is counted',
    file: REFERENCES,
    find: "if (!allowed) throw new ContentError('IN_USE'",
    replace: "if (!allowed && token < 0) throw new ContentError('IN_USE'",
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'nothing is locked where nobody counts',
    file: LOCKS,
    find: 'if (isCounting === this.isServerCounting) return;',
    replace: 'if (isCounting || !isCounting) return;',
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'a skip without bytes is asked again, saying that they are absent',
    file: NODE,
    find: "const absent = type === 'pull' && emptySkips > 0;",
    replace: 'const absent = false;',
    tests: [WRITER_SPEC],
  },
  {
    name: 'the store is looked at again under the lock',
    file: NODE,
    find: 'if (!(await this.store.has(digest)) && !(await this.remover.putBack(hold))) return false;',
    replace: 'return false;',
    tests: [WRITER_SPEC],
  },
  {
    name: 'what is in the trash and in use is put back by a sweep',
    file: REMOVER,
    find: "else if (fate === 'in use' && (await this.putBackUsed(hex)))",
    replace: "else if (fate === 'never')",
    tests: [STORE_SPEC],
  },
];

/** What is on disk when. */
const durability = [
  {
    name: 'bytes are synced before they get their name',
    file: INGEST,
    find: '    await this.file.sync();\n',
    replace: '',
    tests: [POWER_SPEC],
  },
  {
    name: 'the directory is synced before success is told',
    file: STORE,
    find: '      await syncDirectory(this.fs, this.layout.blobs);\n',
    replace: '',
    tests: [POWER_SPEC],
  },
  {
    name: 'a blob that is put back has a second name before the first goes',
    file: TRASH,
    find: '      await this.fs.link(from, this.layout.blob(marked.hex));\n',
    replace:
      "      await this.fs.unlink(from);\n      throw Object.assign(new Error(), { code: 'EEXIST' });\n",
    tests: [OVERTAKEN_SPEC],
  },
  {
    name: 'readers find what an overtaken delete has moved',
    file: STORE,
    find: '      if (trashed) return trashed;\n',
    replace: '',
    tests: [STORE_SPEC],
  },
  {
    name: 'what is there is not replaced',
    file: INGEST,
    find: '    if (replaces) return this.fs.rename(data, path);\n',
    replace: '    return this.fs.rename(data, path);\n',
    tests: [STORE_SPEC],
  },
  {
    name: 'whoever resumes takes the bytes into a file of its own',
    file: INGESTS,
    find: '      if (usable) await this.copy(usable, ingest);\n',
    replace: '',
    tests: [WRITER_SPEC],
  },
  {
    name: 'a reference is on disk before it is acknowledged',
    file: DIRECTORY,
    find: '          return await this.syncUp(resourceId);\n',
    replace: '          return;\n',
    tests: [DIRECTORY_SPEC],
  },
  {
    name: 'adding a reference does not replace one',
    file: DIRECTORY,
    find: 'await this.put(this.toStore(resourceId, node), false);',
    replace: 'await this.put(this.toStore(resourceId, node), true);',
    tests: ['test/content/ref-count-storages.contract.spec.ts'],
  },
];

/** What is reported. */
const outcomes = [
  {
    name: 'wrong bytes are not published',
    file: WRITER,
    find: 'if (wanted === undefined || wanted === this.digest) continue;',
    replace: 'continue;',
    tests: [WRITER_SPEC],
  },
  {
    name: 'a short body is a failure',
    file: WRITER,
    find: 'if (wanted !== undefined && offset < wanted) throw tooShort(this.ref, offset, wanted);',
    replace: '',
    tests: [WRITER_SPEC],
  },
  {
    name: 'a failure is reported, so that the next takes over',
    file: WRITER,
    find: 'if (hold) await this.ends.fail(hold, reason);',
    replace: '',
    tests: [WRITER_SPEC],
  },
  {
    name: 'wrong bytes of the source are fatal',
    file: 'src/content/errors.ts',
    find: 'this[FATAL] = fatal;',
    replace: 'this[FATAL] = false;',
    tests: [WRITER_SPEC],
  },
  {
    name: 'wrong bytes of an earlier try are not',
    file: WRITER,
    find: 'wanted === this.expected && !this.isResumed',
    replace: 'wanted === this.expected',
    tests: [WRITER_SPEC],
  },
  {
    name: 'a sweep asks how the server isolates before there is anything to delete',
    file: REMOVER,
    find: 'await this.locks.assertMayDelete({ signal });',
    replace: '',
    tests: [STORE_SPEC],
  },
  {
    name: 'an ingest whose hold lives is not removed',
    file: REMOVER,
    find: 'return holds.every(({ holder }) => holder?.token !== about.token);',
    replace: 'return holds.length > 0;',
    tests: [STORE_SPEC],
  },
];

export const contentMutants = [...fencing, ...counting, ...durability, ...outcomes];
