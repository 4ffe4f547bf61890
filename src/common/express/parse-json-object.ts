import { invalidJson } from './body-errors.js';

/** Broken UTF-8 is refused, not replaced: two different broken names must not become the same one. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Of the keys that name a prototype, `__proto__` and `constructor`, ends so short that V8 looks for them by the first
 * letter, many bytes at a time. An escape may spell either key, so any escape makes a text suspicious.
 */
function isSuspicious(text: string): boolean {
  return text.includes('roto__') || text.includes('ructor') || text.includes('\\u');
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
