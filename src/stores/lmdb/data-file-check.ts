import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../store.error.js';
import { PAGE_KIND, type Meta, type Page, type Tree, readMeta, readPage } from './data-file-format.js';

export const DATA_FILE = 'data.mdb';

/** LMDB's smallest and largest page. */
const MIN_PAGE_BYTES = 4096;
const MAX_PAGE_BYTES = 65536;

/**
 * Throws `STORE_UNREADABLE` unless every page that the newest commit refers to is in the file, is what it is
 * meant to be and adds up with the totals LMDB keeps. LMDB itself trusts the file: a truncated or overwritten
 * one ends the process with SIGBUS or SIGSEGV, at open or at some later read. A missing file is sound: LMDB
 * makes a new one. Takes about as long as reading the file.
 * Does not promise: to notice damage inside keys or values; LMDB has no checksums.
 */
export function assertSoundDataFile(directory: string): void {
  const path = join(directory, DATA_FILE);
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw unreadable(path, `it cannot be opened (${(error as Error).message})`, error);
  }
  try {
    const damage = new DataFileCheck(file).damage();
    if (damage) throw unreadable(path, damage);
  } finally {
    closeSync(file);
  }
}

function unreadable(path: string, damage: string, cause?: unknown): StoreError {
  return new StoreError(
    'STORE_UNREADABLE',
    'open',
    `The database ${path} is damaged: ${damage}. Nothing was changed. Restore it from a backup, or move the directory away to start anew.`,
    cause,
  );
}

interface Totals {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

class DataFileCheck {
  private readonly bytes: number;
  private pageBytes = MIN_PAGE_BYTES;

  /** One page per level of the tree: a walk needs its way back to the root and no more. */
  private readonly buffers: Buffer[] = [];

  constructor(private readonly file: number) {
    this.bytes = fstatSync(file).size;
  }

  /** What is wrong, in words; `undefined` if nothing is. */
  damage(): string | undefined {
    const first = this.meta(0);
    if (!first) return 'it does not begin with an LMDB header';
    const { pageBytes } = first;
    if (pageBytes < MIN_PAGE_BYTES || pageBytes > MAX_PAGE_BYTES) return `its pages claim ${pageBytes} bytes`;
    this.pageBytes = pageBytes;
    const second = this.meta(1);
    if (!second || second.pageBytes !== pageBytes) return 'its second header is missing or broken';
    const newest = second.transaction > first.transaction ? second : first;
    return (
      this.treeDamage('index of free pages', newest.free) ?? this.treeDamage('tree of items', newest.main)
    );
  }

  private treeDamage(name: string, tree: Tree): string | undefined {
    const totals: Totals = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    const damage = tree.root === undefined ? undefined : this.pageDamage(tree.root, tree.depth, 1, totals);
    if (damage) return `in its ${name}, ${damage}`;
    const adds =
      totals.branchPages === tree.branchPages &&
      totals.leafPages === tree.leafPages &&
      totals.overflowPages === tree.overflowPages &&
      totals.entries === tree.entries;
    return adds ? undefined : `the totals of its ${name} do not add up`;
  }

  private pageDamage(number: number, depth: number, level: number, totals: Totals): string | undefined {
    const page = this.page(number, level);
    if (!page) return `page ${number} is beyond the end of the file or overwritten`;
    if (page.kind !== (level === depth ? PAGE_KIND.leaf : PAGE_KIND.branch)) {
      return `page ${number} is of the wrong kind`;
    }
    if (page.kind === PAGE_KIND.branch) {
      totals.branchPages++;
      return firstDamage(page.children, (child) => this.pageDamage(child, depth, level + 1, totals));
    }
    totals.leafPages++;
    totals.entries += page.entries;
    return firstDamage(page.overflows, ({ first, pages }) => {
      totals.overflowPages += pages;
      return this.overflowDamage(first, pages);
    });
  }

  private overflowDamage(first: number, pages: number): string | undefined {
    const page = this.page(first, 0);
    const whole = (first + pages) * this.pageBytes <= this.bytes;
    if (page?.kind === PAGE_KIND.overflow && page.pages === pages && whole) return undefined;
    return `the long value at page ${first} is beyond the end of the file or overwritten`;
  }

  private meta(number: 0 | 1): Meta | undefined {
    const bytes = this.read(number, 0);
    return bytes && readMeta(bytes, number);
  }

  private page(number: number, level: number): Page | undefined {
    const bytes = this.read(number, level);
    return bytes && readPage(bytes, number);
  }

  private read(number: number, level: number): Buffer | undefined {
    const start = number * this.pageBytes;
    if (start + this.pageBytes > this.bytes) return undefined;
    let buffer = this.buffers[level];
    if (buffer?.length !== this.pageBytes) buffer = this.buffers[level] = Buffer.alloc(this.pageBytes);
    return readSync(this.file, buffer, 0, this.pageBytes, start) === this.pageBytes ? buffer : undefined;
  }
}

function firstDamage<T>(parts: readonly T[], damageOf: (part: T) => string | undefined): string | undefined {
  for (const part of parts) {
    const damage = damageOf(part);
    if (damage) return damage;
  }
  return undefined;
}
