import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

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

describe('The documentation', () => {
  it.each(PAGES)('%s speaks of files that there are', (page) => {
    expect(places(page).filter((path) => !existsSync(path))).toEqual([]);
  });
});
