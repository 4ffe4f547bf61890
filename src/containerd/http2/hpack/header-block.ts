/** Fields as literals that are not indexed: no state, so that the same block is right on every connection and can be made once. */
export function headerBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [NOT_INDEXED, ...literal(name), ...literal(value)]));
}

/** To stand before a block: the table has no room from here on, and needs none. */
export const NO_TABLE = Buffer.from([0x20]);

const NOT_INDEXED = Buffer.from([0]);

function literal(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  return [length(bytes.length), bytes];
}

function length(value: number): Buffer {
  if (value < 0x7f) return Buffer.from([value]);
  const bytes = [0x7f];
  let rest = value - 0x7f;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
