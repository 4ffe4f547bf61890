import { CODE, RpcError } from '../grpc/rpc-error.js';

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Varints of as many bytes are exact as numbers; longer ones are the negative and the absurd. */
const MAX_EXACT_BYTES = 7;
const MAX_VARINT_BYTES = 10;

/**
 * Reads one protobuf message, field by field: `while (reader.next())` switch on `reader.field` and read the value, or
 * `skip` it. Throws `RpcError`.
 */
export class ProtoReader {
  field = 0;
  private wireType = 0;
  private at = 0;

  constructor(private readonly message: Buffer) {}

  next(): boolean {
    if (this.at >= this.message.length) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    return true;
  }

  int64(): number {
    this.expect(WIRE.varint);
    return this.varint();
  }

  /** A part of the message, not a copy. */
  bytes(): Buffer {
    this.expect(WIRE.bytes);
    return this.sized(this.varint());
  }

  string(): string {
    return this.bytes().toString();
  }

  skip(): void {
    if (this.wireType === WIRE.varint) this.varint();
    else if (this.wireType === WIRE.bytes) this.sized(this.varint());
    else if (this.wireType === WIRE.fixed64) this.sized(8);
    else if (this.wireType === WIRE.fixed32) this.sized(4);
    else throw malformed();
  }

  private expect(wireType: number): void {
    if (this.wireType !== wireType) throw malformed();
  }

  private sized(length: number): Buffer {
    const end = this.at + length;
    if (length < 0 || end > this.message.length) throw malformed();
    const part = this.message.subarray(this.at, end);
    this.at = end;
    return part;
  }

  private varint(): number {
    const start = this.at;
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.message[this.at++];
      if (byte === undefined) throw malformed();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      if (this.at - start === MAX_EXACT_BYTES) return this.longVarint(start);
    }
  }

  private longVarint(start: number): number {
    let value = 0n;
    for (let n = 0; n < MAX_VARINT_BYTES; n++) {
      const byte = this.message[start + n];
      if (byte === undefined) throw malformed();
      value |= BigInt(byte & 0x7f) << BigInt(7 * n);
      this.at = start + n + 1;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
    throw malformed();
  }
}

function malformed(): RpcError {
  return new RpcError(CODE.internal, 'The request is not a message of this method.');
}
