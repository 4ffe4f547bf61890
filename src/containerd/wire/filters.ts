import { RE2JS } from 're2js';
import { invalid } from '../grpc/rpc-error.js';

/** What filters look at: a field's text by its path, `undefined` where there is none. */
export type Fields = (path: readonly string[]) => string | undefined;

type Test = (fields: Fields) => boolean;

const PATH = /^(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*")(?:\.(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"))*/;
const OPERATOR = /^(==|!=|~=)/;
const QUOTED = /^"(?:[^"\\]|\\.)*"/;
const BARE = /^[^,"]*/;

/** A digest of any kind fits in. What can be compiled of so many characters takes a tenth of a second. */
const MAX_PATTERN_LENGTH = 256;

/** Steps for each character of a value, at the most: `a{1000}` has few characters and many steps. */
const MAX_PATTERN_STEPS = 1000;

/**
 * containerd's filters: `field==value,labels."key"~=regexp`, with a comma for "and"; several filters are "or", none is
 * everything. A path alone asks whether the field is there.
 */
export function filtered(filters: readonly string[]): Test {
  const tests = filters.map(parse);
  return tests.length === 0 ? () => true : (fields) => tests.some((test) => test(fields));
}

function parse(filter: string): Test {
  const tests: Test[] = [];
  let rest = filter;
  while (rest !== '') {
    const [test, after] = selector(rest, filter);
    tests.push(test);
    rest = after.startsWith(',') ? after.slice(1) : after;
    if (rest === after && after !== '') throw invalid(`Not a filter: ${filter}`);
  }
  return (fields) => tests.every((test) => test(fields));
}

function selector(text: string, filter: string): [Test, string] {
  const path = PATH.exec(text)?.[0];
  if (path === undefined) throw invalid(`Not a filter: ${filter}`);
  const names = [...path.matchAll(/"(?:[^"\\]|\\.)*"|[^.]+/g)].map(([name]) => unquoted(name));
  const afterPath = text.slice(path.length);
  const operator = OPERATOR.exec(afterPath)?.[0];
  if (operator === undefined) return [(fields) => (fields(names) ?? '') !== '', afterPath];
  const value = (QUOTED.exec(afterPath.slice(2)) ?? BARE.exec(afterPath.slice(2)))![0];
  return [comparison(names, operator, unquoted(value), filter), afterPath.slice(2 + value.length)];
}

function comparison(names: readonly string[], operator: string, value: string, filter: string): Test {
  if (operator === '==') return (fields) => (fields(names) ?? '') === value;
  if (operator === '!=') return (fields) => (fields(names) ?? '') !== value;
  const pattern = regularExpression(value, filter);
  return (fields) => pattern.test(fields(names) ?? '');
}

/** As containerd's own: Go's syntax, and time that grows with the text alone. One of JavaScript's can take for ever. */
function regularExpression(value: string, filter: string): RE2JS {
  if (value.length > MAX_PATTERN_LENGTH) throw invalid(`Not a filter: the expression ${value} is too long.`);
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(value);
  } catch (error) {
    throw invalid(`Not a filter: ${filter}: ${(error as Error).message}`);
  }
  if (pattern.programSize() <= MAX_PATTERN_STEPS) return pattern;
  throw invalid(`Not a filter: ${filter}: it repeats too much.`);
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
}
