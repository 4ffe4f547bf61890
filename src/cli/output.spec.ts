import { expect, it, vi } from 'vitest';
import { legible, note, printJson, table } from './output.js';

const TITLE = '\x1b]0;gotcha\x07';

it.each([
  ['a title', TITLE, '\\u001b]0;gotcha\\u0007'],
  ['an 8-bit sequence', '\x9b31m', '\\u009b31m'],
  ['a forged line', 'a\r\nb', 'a\\u000d\\u000ab'],
  ['lines of other kinds', '\u2028\u2029\x85', '\\u2028\\u2029\\u0085'],
  ['text that turns round', '\u202egnp.exe', '\\u202egnp.exe'],
  ['a name in any language', 'слой-日本-👩‍👩‍👧', 'слой-日本-👩‍👩‍👧'],
])('%s is shown, not obeyed', (_what, text, shown) => {
  expect(legible(text)).toBe(shown);
});

it('a table has one line for a row, whatever is in it', () => {
  expect(
    table([
      ['A', 'B'],
      [`x${TITLE}`, 'a\nb'],
    ]).split('\n'),
  ).toHaveLength(2);
});

it.each([
  ['ideographs', '日本', 4],
  ['an emoji', '👍', 2],
  ['accents of their own', 'e\u0301a\u0308', 2],
  ['other alphabets', 'слой', 4],
])('columns stay under each other after %s', (_what, name, width) => {
  expect(
    table([
      ['NAME', 'NODE'],
      [name, 'n1'],
    ]).split('\n'),
  ).toEqual(['NAME  NODE', `${name}${' '.repeat(4 - width)}  n1`]);
});

it('a column is as wide as its widest cell is on the screen', () => {
  expect(
    table([
      ['日本日本', 'n1'],
      ['a', 'n2'],
    ]),
  ).toBe('日本日本  n1\na         n2');
});

function written(stream: NodeJS.WriteStream, act: () => void): string {
  const write = vi.spyOn(stream, 'write').mockReturnValue(true);
  act();
  const text = String(write.mock.calls[0]![0]);
  write.mockRestore();
  return text;
}

it('what is said beside has its lines, and nothing that steers the terminal', () => {
  expect(written(process.stderr, () => note(`one\n${TITLE}`))).toBe('one\n\\u001b]0;gotcha\\u0007\n');
});

it('a document is shown safely, and says the same to programs', () => {
  const value = { error: `\x9b31m${TITLE}\u202e"\\` };
  const text = written(process.stdout, () => printJson(value));
  expect(text).toBe(`${legible(text.trimEnd())}\n`);
  expect(JSON.parse(text)).toEqual(value);
});
