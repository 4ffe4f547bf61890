import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** Made, or described by those in them. */
const NO_ROOMS = new Set(['node_modules', 'dist', 'data', 'coverage']);

/** Paths of files and folders that a page speaks of, or links to. */
function places(page: string): string[] {
  const text = readFileSync(page, 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to]) =>
    normalize(join(dirname(page), to!)),
  );
  const named = [...text.matchAll(/`((?:src|test|bench|docs|config|scripts)\/[\w./-]*)`/g)].map(
    ([, path]) => path!,
  );
  return [...links, ...named];
}

/** Rows of tables that have more or fewer cells than the first: a `|` that is not escaped ends a cell, even in code. */
function raggedRows(page: string): string[] {
  const prose = readFileSync(page, 'utf8').replaceAll(/^ *```[^]*?^ *```/gm, '');
  const tables = prose.match(/(?:^\|.*\n)+/gm) ?? [];
  const cells = (row: string) => row.replaceAll('\\|', '').split('|').length;
  return tables.flatMap((table) => {
    const [head, ...rows] = table.trimEnd().split('\n');
    return rows.filter((row) => cells(row) !== cells(head!));
  });
}

describe('The documentation', () => {
  it.each(PAGES)('%s speaks of files that there are', (page) => {
    expect(places(page).filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(PAGES)('%s has tables whose rows are whole', (page) => {
    expect(raggedRows(page)).toEqual([]);
  });

  it('has a room for every folder', () => {
    const page = readFileSync('docs/directories.md', 'utf8');
    const folders = ['.', 'src', 'test'].flatMap((parent) =>
      readdirSync(parent, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !NO_ROOMS.has(entry.name) && !entry.name.startsWith('.'))
        .map(({ name }) => `\`${join(parent, name)}/`),
    );
    expect(folders.filter((folder) => !page.includes(folder))).toEqual([]);
  });
});
