import { invalidJson } from './body-errors.js';

/** Broken UTF-8 is refused, not replaced: two different broken names must not become the same one. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Keys that name a prototype, each with an end of it: V8 looks for what is so short by its first letter, many bytes at a time. An escape
 * may spell either key, so any escape makes a text suspicious.
 */
const SUSPICIOUS = [
  ['roto__', '__proto__'],
  ['ructor', 'constructor'],
  ['\\u', '\\u'],
] as const;

function isSuspicious(text: string): boolean {
  return SUSPICIOUS.some(([end, word]) => text.includes(end) && text.includes(word));
}

/**
 * A body as an object. Keys that lead to a prototype are left out at every depth, so that code which copies bodies
 * about cannot be tricked. Throws `INVALID_JSON` for anything else than one JSON object in UTF-8.
 */
export function parseJsonObject(bytes: Uint8Array): object {
  const value = parse(decode(bytes));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidJson('The body must be a JSON object.');
  }
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw invalidJson('The body is not valid UTF-8.');
  }
}

function parse(text: string): unknown {
  try {
    return isSuspicious(text) ? JSON.parse(text, withoutPrototypes) : JSON.parse(text);
  } catch (error) {
    // Also a RangeError: a reviver runs out of stack on a text nested some thousand deep.
    throw invalidJson(
      `The body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function withoutPrototypes(key: string, value: unknown): unknown {
  return key === '__proto__' || key === 'constructor' ? undefined : value;
}
