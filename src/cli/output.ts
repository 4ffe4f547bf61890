import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Anything but an empty value switches colours off: https://no-color.org */
export function hasColours({ isTTY }: NodeJS.WriteStream): boolean {
  return isTTY && !process.env['NO_COLOR'];
}

export function painter(stream: NodeJS.WriteStream): (style: Style, text: string) => string {
  const coloured = hasColours(stream);
  return (style, text) => (coloured ? styleText(style, text) : text);
}

/** What the command is there for. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** What is said beside it. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Columns as wide as their widest cell, the last as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => line(row, widths)).join('\n');
}

function line(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell.padEnd(widths[column]!))
    .join('  ')
    .trimEnd();
}

/** Names on the left, values on the right. */
export function facts(entries: readonly (readonly [string, string])[]): string {
  return table(entries.map(([name, value]) => [`  ${name}`, value]));
}
