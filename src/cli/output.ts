import { styleText } from 'node:util';
import { widthOf } from './text-width.js';

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Anything but an empty value switches colours off: https://no-color.org */
export function hasColours({ isTTY }: NodeJS.WriteStream): boolean {
  return isTTY && !process.env['NO_COLOR'];
}

export function painter(stream: NodeJS.WriteStream): (style: Style, text: string) => string {
  const coloured = hasColours(stream);
  return (style, text) => (coloured ? styleText(style, text) : text);
}

/** What a terminal obeys instead of showing it, and what begins another line or turns its direction. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Names, reasons and errors are anybody's words: what is in them is shown, and nothing is done. */
export function legible(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** What the command is there for. Words of others are made `legible` first: this may have colours in it. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(legible(JSON.stringify(value)));
}

/** What is said beside it. */
export function note(text: string): void {
  process.stderr.write(`${text.split('\n').map(legible).join('\n')}\n`);
}

/** Columns as wide as their widest cell, the last as it is. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(legible));
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]!))));
  return rows.map((row) => line(row, widths)).join('\n');
}

function line(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell)))
    .join('  ')
    .trimEnd();
}

/** Names on the left, values on the right. */
export function facts(entries: readonly (readonly [string, string])[]): string {
  return table(entries.map(([name, value]) => [`  ${name}`, value]));
}
