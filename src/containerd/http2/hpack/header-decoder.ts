import { ConnectionError, H2_ERROR } from '../protocol.js';
import { DynamicTable, sizeOf } from './dynamic-table.js';
import { huffmanDecoded } from './huffman.js';
import { type Field, STATIC_TABLE } from './static-table.js';

/** What a peer may use without being told otherwise. */
export const MAX_TABLE_BYTES = 4096;

/** Far more than any length or index here; larger ones are nonsense. */
const MAX_INTEGER = 2 ** 24;

export interface HeaderList {
  /** Values of one name are joined by commas. */
  readonly fields: ReadonlyMap<string, string>;
  /** As SETTINGS_MAX_HEADER_LIST_SIZE counts. */
  readonly bytes: number;
}

/** Header blocks of one connection, in the order they came: RFC 7541. Throws `ConnectionError`: what follows cannot be understood. */
export class HeaderDecoder {
  private readonly table = new DynamicTable(MAX_TABLE_BYTES);
  private block: Buffer = Buffer.alloc(0);
  private at = 0;

  decode(block: Buffer): HeaderList {
    this.block = block;
    this.at = 0;
    const fields = new Map<string, string>();
    let bytes = 0;
    while (this.at < block.length) {
      const field = this.next(fields.size === 0);
      if (!field) continue;
      bytes += sizeOf(field);
      const before = fields.get(field.name);
      fields.set(field.name, before === undefined ? field.value : `${before},${field.value}`);
    }
    return { fields, bytes };
  }

  /** `undefined`: it was an instruction. */
  private next(isFirst: boolean): Field | undefined {
    const byte = this.block[this.at]!;
    if (byte & 0x80) return this.indexed(this.integer(7));
    if (byte & 0x40) {
      const field = this.literal(6);
      this.table.add(field);
      return field;
    }
    if ((byte & 0x20) === 0) return this.literal(4);
    const capacity = this.integer(5);
    if (!isFirst || capacity > MAX_TABLE_BYTES) throw broken('a table size that is not allowed');
    this.table.resize(capacity);
    return undefined;
  }

  private literal(prefixBits: number): Field {
    const index = this.integer(prefixBits);
    const name = index === 0 ? this.string() : this.indexed(index).name;
    return { name, value: this.string() };
  }

  private indexed(index: number): Field {
    const field = STATIC_TABLE[index - 1] ?? this.table.at(index - 1 - STATIC_TABLE.length);
    if (!field) throw broken(`no field ${index}`);
    return field;
  }

  private string(): string {
    const isHuffman = (this.block[this.at] ?? 0) & 0x80;
    const length = this.integer(7);
    const end = this.at + length;
    if (end > this.block.length) throw broken('a string that breaks off');
    const bytes = this.block.subarray(this.at, end);
    this.at = end;
    return isHuffman ? huffmanDecoded(bytes) : bytes.toString('latin1');
  }

  private integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.byte() & most;
    if (value < most) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (value > MAX_INTEGER || scale > MAX_INTEGER) throw broken('a number that is too large');
      if (byte < 0x80) return value;
    }
  }

  private byte(): number {
    if (this.at >= this.block.length) throw broken('a number that breaks off');
    return this.block[this.at++]!;
  }
}

function broken(what: string): ConnectionError {
  return new ConnectionError(H2_ERROR.compression, `A header block has ${what}.`);
}
