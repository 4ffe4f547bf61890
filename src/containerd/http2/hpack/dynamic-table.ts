import { type Field } from './static-table.js';

/** What a field counts for beside its characters. */
const FIELD_OVERHEAD_BYTES = 32;

export function sizeOf({ name, value }: Field): number {
  return name.length + value.length + FIELD_OVERHEAD_BYTES;
}

/** The fields that a connection has seen, newest first; the oldest make room. */
export class DynamicTable {
  private readonly fields: Field[] = [];
  private bytes = 0;

  constructor(private capacity: number) {}

  at(index: number): Field | undefined {
    return this.fields[index];
  }

  /** One that is larger than the whole table empties it. */
  add(field: Field): void {
    const size = sizeOf(field);
    this.evictTo(this.capacity - size);
    if (size > this.capacity) return;
    this.fields.unshift(field);
    this.bytes += size;
  }

  resize(capacity: number): void {
    this.capacity = capacity;
    this.evictTo(capacity);
  }

  private evictTo(bytes: number): void {
    while (this.bytes > bytes && this.fields.length > 0) this.bytes -= sizeOf(this.fields.pop()!);
  }
}
