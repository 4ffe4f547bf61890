import { type Clock } from '../common/clock.interface.js';

/** Runs what is chained to it after what runs now: what one caller asks for in one go still goes together. */
const NEXT = Promise.resolve();

/**
 * Commands that come in one turn of the event loop are decided together (ADR 13). One that comes alone, after a turn that brought no more
 * than one, is decided at once: it would wait for nobody.
 */
export class Company {
  private inThisTurn = 0;
  private inLastTurn = 0;
  private waiting: (() => void)[] = [];

  constructor(private readonly clock: Pick<Clock, 'turn'>) {}

  /** For a command that has just come: begins it at once, or with the others of this turn. */
  join(begin: () => void): void {
    if (++this.inThisTurn === 1) void this.clock.turn().then(this.endTurn);
    if (this.inThisTurn === 1 && this.inLastTurn <= 1) void NEXT.then(begin);
    else this.waiting.push(begin);
  }

  private readonly endTurn = (): void => {
    const { waiting } = this;
    this.waiting = [];
    this.inLastTurn = this.inThisTurn;
    this.inThisTurn = 0;
    for (const begin of waiting) begin();
  };
}
