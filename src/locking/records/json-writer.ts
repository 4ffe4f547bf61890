import { codeAt } from '../../core/text.js';

/** A short record fits; the memory grows with the longest that was written. */
const INITIAL_BYTES = 4096;

/** One UTF-16 unit never takes more than this as JSON: six characters for an escaped one. */
const MOST_BYTES_PER_UNIT = 6;

/** The longest number, `-1.7976931348623157e+308`, and a comma. */
const MOST_BYTES_OF_NUMBER = 32;

const [COMMA, QUOTE, COLON, BACKSLASH] = [0x2c, 0x22, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [FIRST_PRINTABLE, LAST_PRINTABLE] = [0x20, 0x7e];
const ZERO = 0x30;

/** Half of a safe integer's digits: either half is a small integer, which V8 divides quickly. */
const HALF = 1e8;
const DIGITS_OF_HALF = 8;

/**
 * Writes JSON into memory of its own, which is used again for the next text. Every commit writes a text of some hundred characters in
 * dozens of pieces; to have V8 note the pieces and put them together at the end takes half as long again, and leaves five times as
 * much to be collected.
 *
 * The commas it sets itself: one behind every value, in whose place the end of a list is written. It does not check that what is opened is
 * closed.
 */
export class JsonWriter {
  private bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  /** ASCII is read as Latin-1 in a third of the time. */
  private isAscii = true;
  /** Bytes of UTF-8 written so far, and the comma behind the last value. */
  length = 0;

  openList(): void {
    this.mark(OPEN_LIST);
  }

  closeList(): void {
    this.close(CLOSE_LIST);
  }

  openObject(): void {
    this.mark(OPEN_OBJECT);
  }

  closeObject(): void {
    this.close(CLOSE_OBJECT);
  }

  /** The name of a field, whose value is what comes next. */
  field(name: string): void {
    this.string(name);
    this.bytes[this.length - 1] = COLON;
  }

  string(text: string): void {
    const { length } = text;
    this.reserve(length * MOST_BYTES_PER_UNIT + MOST_BYTES_OF_NUMBER);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = QUOTE;
    for (let i = 0; i < length; i++) {
      const unit = codeAt(text, i);
      if (unit < FIRST_PRINTABLE || unit > LAST_PRINTABLE || unit === QUOTE || unit === BACKSLASH)
        return this.escaped(text);
      bytes[at++] = unit;
    }
    bytes[at++] = QUOTE;
    bytes[at++] = COMMA;
    this.length = at;
  }

  number(value: number): void {
    this.reserve(MOST_BYTES_OF_NUMBER);
    if (!Number.isSafeInteger(value) || value < 0) return this.text(String(value));
    if (value < 10) this.bytes[this.length++] = ZERO + value;
    else if (value < HALF) this.digits(value | 0, lengthOf(value));
    else {
      const upper = Math.floor(value / HALF);
      this.digits(upper | 0, lengthOf(upper));
      this.digits((value - upper * HALF) | 0, DIGITS_OF_HALF);
    }
    this.bytes[this.length++] = COMMA;
  }

  bit(value: boolean): void {
    this.reserve(MOST_BYTES_OF_NUMBER);
    this.bytes[this.length++] = value ? ZERO + 1 : ZERO;
    this.bytes[this.length++] = COMMA;
  }

  null(): void {
    this.reserve(MOST_BYTES_OF_NUMBER);
    this.text('null');
  }

  /** Begins a text, whatever became of the one before it. */
  begin(): void {
    this.length = 0;
    this.isAscii = true;
  }

  /** The whole text. */
  end(): string {
    return this.textFrom(0);
  }

  /** What is written meanwhile: a text of its own, not a part of this one. */
  aside(write: () => void): string {
    const { length } = this;
    write();
    return this.textFrom(length);
  }

  private textFrom(start: number): string {
    const text = this.bytes.toString(this.isAscii ? 'latin1' : 'utf8', start, this.length - 1);
    this.length = start;
    return text;
  }

  private mark(opening: number): void {
    this.reserve(MOST_BYTES_OF_NUMBER);
    this.bytes[this.length++] = opening;
  }

  private close(closing: number): void {
    this.reserve(MOST_BYTES_OF_NUMBER);
    if (this.bytes[this.length - 1] === COMMA) this.length--;
    this.bytes[this.length++] = closing;
    this.bytes[this.length++] = COMMA;
  }

  private reserve(most: number): void {
    if (this.length + most <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.length + most));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  private escaped(text: string): void {
    this.isAscii = false;
    this.length += this.bytes.write(JSON.stringify(text), this.length);
    this.bytes[this.length++] = COMMA;
  }

  private text(ascii: string): void {
    const { length } = ascii;
    for (let i = 0; i < length; i++) this.bytes[this.length++] = codeAt(ascii, i);
    this.bytes[this.length++] = COMMA;
  }

  /** `| 0` tells V8 that these are small integers. */
  private digits(value: number, count: number): void {
    const { bytes, length } = this;
    let rest = value;
    for (let at = length + count - 1; at >= length; at--) {
      const tens = (rest / 10) | 0;
      bytes[at] = ZERO + rest - 10 * tens;
      rest = tens;
    }
    this.length = length + count;
  }
}

function lengthOf(value: number): number {
  let length = 1;
  for (let power = 10; value >= power; power *= 10) length++;
  return length;
}
