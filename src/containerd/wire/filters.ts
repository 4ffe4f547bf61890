import { invalid } from '../grpc/rpc-error.js';

/** What filters look at: a field's text by its path, `undefined` where there is none. */
export type Fields = (path: readonly string[]) => string | undefined;

type Test = (fields: Fields) => boolean;

const PATH = /^(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*")(?:\.(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"))*/;
const OPERATOR = /^(==|!=|~=)/;
const QUOTED = /^"(?:[^"\\]|\\.)*"/;
const BARE = /^[^,"]*/;

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

function regularExpression(value: string, filter: string): RegExp {
  try {
    return new RegExp(value);
  } catch (error) {
    throw invalid(`Not a filter: ${filter}: ${(error as Error).message}`);
  }
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
}
