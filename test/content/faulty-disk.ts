import { mkdtempSync, rmSync } from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { onTestFinished } from 'vitest';
import { type ContentFile, type ContentFileSystem } from '../../src/content/index.js';

/** Thrown by everything once the process is "dead". */
export class Crash extends Error {
  constructor() {
    super('the process has crashed');
  }
}

type Undo = () => Promise<void>;

/**
 * The real file system, on which a process can crash at any of its steps and which can lose its power: then what was not synced
 * is lost, bytes of files and entries of directories alike. Every change is a step, numbered from 1.
 */
export class FaultyDisk implements ContentFileSystem {
  readonly steps: string[] = [];
  private crashAt = Infinity;
  private crashesAfter = false;
  private writeError: string | undefined;
  /** How to take back the unsynced changes of each directory, newest last. */
  private readonly entries = new Map<string, Undo[]>();
  /** Files with bytes that were not synced, and how many were. */
  private readonly bytes = new Map<string, number>();
  private readonly handles = new Set<nodeFs.FileHandle>();
  private readonly shadow = mkdtempSync(join(tmpdir(), 'holdfast-shadow-'));
  private shadows = 0;

  /** Awaited before each step: what happens elsewhere at that moment. */
  onStep: (name: string, step: number) => Promise<void> = async () => undefined;
  /** Called as the process ends. */
  onCrash: () => void = () => undefined;

  constructor() {
    onTestFinished(() => rmSync(this.shadow, { recursive: true, force: true }));
  }

  readonly readdir = (path: string) => this.alive(() => nodeFs.readdir(path));

  /** The process ends at this step from now, before it is done or right after. */
  crash(step: number, after = false): void {
    this.crashAt = this.steps.length + step;
    this.crashesAfter = after;
  }

  failWrites(code: string | undefined): void {
    this.writeError = code;
  }

  get isAlive(): boolean {
    return this.crashAt !== 0;
  }

  /** Everything that was not synced is lost. */
  async powerCut(): Promise<void> {
    for (const [path, synced] of this.bytes) await nodeFs.truncate(path, synced).catch(() => undefined);
    for (const undos of this.entries.values()) for (const undo of undos.toReversed()) await undo();
    this.bytes.clear();
    this.entries.clear();
  }

  async mkdir(path: string, options: { recursive: boolean }): Promise<string | undefined> {
    return this.step(`mkdir ${path}`, async () => {
      const made = options.recursive ? await nodeFs.mkdir(path, { recursive: true }) : path;
      if (!options.recursive) await nodeFs.mkdir(path);
      for (let at = path; made !== undefined; at = dirname(at)) {
        const one = at;
        this.changed(one, () => nodeFs.rm(one, { recursive: true, force: true }));
        if (one === made) break;
      }
      return made;
    });
  }

  async open(path: string, flags: 'r' | 'wx'): Promise<ContentFile> {
    if (flags === 'r') return this.alive(async () => this.fileOf(path, await nodeFs.open(path, flags)));
    return this.step(`create ${path}`, async () => {
      const file = await nodeFs.open(path, flags);
      this.changed(path, () => nodeFs.rm(path, { force: true }));
      return this.fileOf(path, file);
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await this.step(`rename ${to}`, async () => {
      const replaced = await this.keep(to);
      await nodeFs.rename(from, to);
      this.movedBytes(from, to);
      const back = async () => {
        await nodeFs.rename(to, from).catch(() => undefined);
        if (replaced !== undefined) await nodeFs.link(replaced, to).catch(() => undefined);
      };
      this.changed(to, back);
    });
  }

  async link(from: string, to: string): Promise<void> {
    await this.step(`link ${to}`, async () => {
      await nodeFs.link(from, to);
      const synced = this.bytes.get(from);
      if (synced !== undefined) this.bytes.set(to, synced);
      this.changed(to, () => nodeFs.rm(to, { force: true }));
    });
  }

  async unlink(path: string): Promise<void> {
    await this.step(`unlink ${path}`, async () => {
      const kept = await this.keep(path);
      await nodeFs.unlink(path);
      if (kept !== undefined) this.changed(path, () => nodeFs.link(kept, path).catch(() => undefined));
    });
  }

  async rmdir(path: string): Promise<void> {
    await this.step(`rmdir ${path}`, () => nodeFs.rmdir(path));
  }

  private fileOf(path: string, file: nodeFs.FileHandle): ContentFile {
    this.handles.add(file);
    return {
      read: (into, offset, length, position) => this.alive(() => file.read(into, offset, length, position)),
      write: (from, offset, length, position) =>
        this.writing(path, () => file.write(from, offset, length, position)),
      readFile: (encoding) => this.alive(() => file.readFile(encoding)),
      writeFile: (text) => this.writing(path, () => file.writeFile(text)),
      truncate: (length) => this.writing(path, () => file.truncate(length)),
      stat: () => this.alive(() => file.stat()),
      sync: () =>
        this.step(`sync ${path}`, async () => {
          await file.sync();
          this.bytes.delete(path);
          this.entries.delete(path);
        }),
      close: () => {
        this.handles.delete(file);
        return file.close();
      },
    };
  }

  private writing<T>(path: string, write: () => Promise<T>): Promise<T> {
    return this.step(`write ${path}`, async () => {
      if (this.writeError)
        throw Object.assign(new Error(`${this.writeError}: injected`), { code: this.writeError });
      if (!this.bytes.has(path))
        this.bytes.set(path, (await nodeFs.stat(path).catch(() => undefined))?.size ?? 0);
      return write();
    });
  }

  private async step<T>(name: string, task: () => Promise<T>): Promise<T> {
    this.assertAlive();
    this.steps.push(name);
    await this.onStep(name, this.steps.length);
    if (this.steps.length === this.crashAt && !this.crashesAfter) throw await this.end();
    const done = await Promise.allSettled([task()]);
    if (this.steps.length === this.crashAt) throw await this.end();
    if (done[0].status === 'rejected') throw done[0].reason;
    return done[0].value;
  }

  /** With a process go the files it has open. */
  private async end(): Promise<Crash> {
    this.crashAt = 0;
    this.onCrash();
    await Promise.all([...this.handles].map((file) => file.close()));
    return new Crash();
  }

  private async alive<T>(task: () => Promise<T>): Promise<T> {
    this.assertAlive();
    return task();
  }

  private assertAlive(): void {
    if (this.crashAt === 0) throw new Crash();
  }

  /** A second name for what is about to lose its own. */
  private async keep(path: string): Promise<string | undefined> {
    const kept = join(this.shadow, String(++this.shadows));
    return nodeFs.link(path, kept).then(
      () => kept,
      () => undefined,
    );
  }

  private movedBytes(from: string, to: string): void {
    const synced = this.bytes.get(from);
    this.bytes.delete(from);
    if (synced !== undefined) this.bytes.set(to, synced);
  }

  private changed(path: string, undo: Undo): void {
    const directory = dirname(path);
    this.entries.set(directory, [...(this.entries.get(directory) ?? []), undo]);
  }
}
