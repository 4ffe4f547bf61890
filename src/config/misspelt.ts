import { readSettings } from './settings.js';

/** Shorter names (`PORT`, `HOST`) are too near to what others call theirs. */
const MIN_LENGTH = 8;

/** Two slips of a finger, or letters in the wrong order. */
const MAX_DISTANCE = 2;

/** Left out more easily than any letter. */
const UNIT = '_MS';

/** Variables that nobody reads but whose names are nearly those of settings, each as a sentence. */
export function misspelt(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = settingNames();
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name)) return [];
    const meant = [...known].find(
      (setting) =>
        setting.length >= MIN_LENGTH &&
        (editDistance(name, setting) <= MAX_DISTANCE || setting === name + UNIT),
    );
    return meant === undefined ? [] : [`${name} is no setting and was ignored. Is ${meant} meant?`];
  });
}

/** Those that are asked for when settings are read. */
function settingNames(): ReadonlySet<string> {
  const names = new Set<string>();
  readSettings(new Proxy({}, { get: (_, name) => void names.add(String(name)) }));
  return names;
}

/** How many letters must be put in, taken out or replaced to make one of the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
