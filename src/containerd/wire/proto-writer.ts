const WIRE = { varint: 0, bytes: 2 } as const;

/** Writes one protobuf message, field by field. As proto3 wants, what is empty or 0 is left out. */
export class ProtoWriter {
  private buffer = Buffer.allocUnsafe(256);
  private filled = 0;

  int64(field: number, value: number): this {
    if (value === 0) return this;
    this.varint(field * 8 + WIRE.varint);
    this.varint(value);
    return this;
  }

  string(field: number, value: string): this {
    return value === '' ? this : this.bytes(field, Buffer.from(value));
  }

  /** Also if it is empty: it is there. */
  message(field: number, value: ProtoWriter): this {
    return this.bytes(field, value.finish());
  }

  map(field: number, entries: Readonly<Record<string, string>>): this {
    for (const [key, value] of Object.entries(entries))
      this.message(field, new ProtoWriter().string(1, key).string(2, value));
    return this;
  }

  /** The tag and the length of bytes that follow elsewhere. */
  bytesHead(field: number, length: number): this {
    this.varint(field * 8 + WIRE.bytes);
    this.varint(length);
    return this;
  }

  finish(): Buffer {
    return this.buffer.subarray(0, this.filled);
  }

  private bytes(field: number, value: Uint8Array): this {
    this.bytesHead(field, value.length);
    this.room(value.length);
    this.buffer.set(value, this.filled);
    this.filled += value.length;
    return this;
  }

  private varint(value: number): void {
    this.room(10);
    let rest = value;
    if (value < 0) {
      this.negative(value);
      return;
    }
    for (; rest >= 0x80; rest = Math.floor(rest / 128)) this.buffer[this.filled++] = (rest % 128) | 0x80;
    this.buffer[this.filled++] = rest;
  }

  private negative(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 0x80n; rest >>= 7n) this.buffer[this.filled++] = Number(rest & 0x7fn) | 0x80;
    this.buffer[this.filled++] = Number(rest);
  }

  private room(bytes: number): void {
    if (this.buffer.length - this.filled >= bytes) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.filled + bytes));
    this.buffer.copy(larger, 0, 0, this.filled);
    this.buffer = larger;
  }
}
