import { type Text } from '../../stores/state-store.interface.js';

/** A text that is made when somebody first wants it, from what does not change. */
export class LaterText implements Text {
  private text: string | undefined;
  private make: (() => string) | undefined;

  constructor(
    readonly length: number,
    make: () => string,
  ) {
    this.make = make;
  }

  toString(): string {
    if (this.text !== undefined) return this.text;
    this.text = this.make!();
    // The text alone is kept for long.
    this.make = undefined;
    return this.text;
  }
}
