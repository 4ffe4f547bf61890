import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A disk writes this much or nothing of it. */
const SECTOR_BYTES = 512;

/** The database's lock table and our socket mean nothing once their process has ended. */
const NOT_KEPT = /^lock\.mdb$|\.sock$/;

interface Note {
  /** `C`reate, `U`nlink, `R`ename, `W`rite, `D`: write and flush, `T`runcate, `S`: flush, `A`: an answer. */
  readonly kind: string;
  readonly name: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** A file as it is on disk, and what has been done to it since it was flushed. */
class RecordedFile {
  readonly unflushed: Note[] = [];
  private bytes = Buffer.alloc(0);
  private size = 0;

  get flushed(): Buffer {
    return this.bytes.subarray(0, this.size);
  }

  flush(notes = this.unflushed.splice(0)): void {
    for (const { kind, offset, bytes } of notes) {
      this.grow(offset + bytes.length);
      if (kind === 'T') this.bytes.fill(0, offset);
      bytes.copy(this.bytes, offset);
      this.size = kind === 'T' ? offset : Math.max(this.size, offset + bytes.length);
    }
  }

  private grow(size: number): void {
    if (size > this.bytes.length) this.bytes = Buffer.concat([this.bytes, Buffer.alloc(size)]);
  }
}

type Entries = Map<string, RecordedFile>;
type EntryChange = (entries: Entries) => void;

/** Whether this, of what a power cut may leave or not, is left. */
export type Survival = () => boolean;

/**
 * A directory as it was at some moment of what `disk-recorder.c` has noted. What was not flushed by then may be there or not: writes
 * each by itself, names in the order in which they were changed.
 */
export class RecordedDisk {
  /** How many there were so far. */
  answers = 0;
  private readonly notes: readonly Note[];
  private done = 0;
  private readonly flushedEntries: Entries = new Map();
  private readonly entries: Entries = new Map();
  private unflushedChanges: EntryChange[] = [];

  constructor(trace: string) {
    this.notes = parse(readFileSync(trace));
  }

  /** What is being done at this moment. */
  get next(): Note | undefined {
    return this.notes[this.done];
  }

  /** A power cut now may leave something else than a kill. */
  get isUnsettled(): boolean {
    const files = [...this.entries.values()];
    return this.unflushedChanges.length > 0 || files.some(({ unflushed }) => unflushed.length > 0);
  }

  step(): void {
    const note = this.notes[this.done++]!;
    const { kind, name } = note;
    if (kind === 'A') this.answers++;
    else if (kind === 'C') this.change(set(name, new RecordedFile()));
    else if (kind === 'U') this.change((entries) => entries.delete(name));
    else if (kind === 'R') this.rename(name, note.bytes.toString());
    else if (kind === 'S' && name === '.') this.flushEntries();
    else if (kind === 'S') this.file(name).flush();
    else if (kind === 'D') this.file(name).flush([note]);
    else this.file(name).unflushed.push(note);
  }

  /** Makes the directory as a process leaves it that is killed now. */
  makeAsKilled(directory: string): void {
    this.make(directory, this.entries, () => true);
  }

  /** Makes the directory as a power cut may leave it, which also tears what was being written. */
  makeAsCutOff(directory: string, survives: Survival): void {
    const entries = new Map(this.flushedEntries);
    for (const change of this.unflushedChanges) {
      if (!survives()) break;
      change(entries);
    }
    this.make(directory, entries, survives);
    const { next } = this;
    const isWrite =
      next && 'WD'.includes(next.kind) && entries.get(next.name) === this.entries.get(next.name);
    if (isWrite) writeSome(join(directory, next.name), next, survives);
  }

  private make(directory: string, entries: Entries, survives: Survival): void {
    mkdirSync(directory);
    for (const [name, { flushed, unflushed }] of entries) {
      const file = openSync(join(directory, name), 'w');
      writeSync(file, flushed);
      for (const note of unflushed) if (survives()) apply(file, note);
      closeSync(file);
    }
  }

  private file(name: string): RecordedFile {
    const file = this.entries.get(name);
    if (!file) throw new Error(`nobody has made ${name}`);
    return file;
  }

  private change(change: EntryChange): void {
    change(this.entries);
    this.unflushedChanges.push(change);
  }

  private rename(from: string, to: string): void {
    const file = this.file(from);
    this.change((entries) => {
      entries.delete(from);
      entries.set(to, file);
    });
  }

  private flushEntries(): void {
    for (const change of this.unflushedChanges) change(this.flushedEntries);
    this.unflushedChanges = [];
  }
}

function set(name: string, file: RecordedFile): EntryChange {
  return (entries) => entries.set(name, file);
}

function apply(file: number, { kind, offset, bytes }: Note): void {
  if (kind === 'T') ftruncateSync(file, offset);
  else writeSync(file, bytes, 0, bytes.length, offset);
}

function writeSome(path: string, { offset, bytes }: Note, survives: Survival): void {
  const file = openSync(path, 'r+');
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((offset + at) % SECTOR_BYTES));
    if (survives()) writeSync(file, bytes, at, end - at, offset + at);
    at = end;
  }
  closeSync(file);
}

function parse(trace: Buffer): Note[] {
  const notes: Note[] = [];
  for (let at = 0; at < trace.length;) {
    const end = trace.indexOf('\n', at);
    const [kind, name, offset, length] = trace.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(length);
    const note = { kind: kind!, name: name!, offset: Number(offset), bytes: trace.subarray(end + 1, at) };
    if (!NOT_KEPT.test(note.name)) notes.push(note);
  }
  return notes;
}
