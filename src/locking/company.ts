import { type Clock } from '../common/clock.interface.js';

/**
 * Commands that come in one turn of the event loop are decided together (ADR 13). One that comes alone, after a turn that brought no more
 * than one, is decided at once: it would wait for nobody.
 */
export class Company {
  private inThisTurn = 0;
  private inLastTurn = 0;

  constructor(private readonly clock: Pick<Clock, 'turn'>) {}

  /** For a command that has just come: what it is to wait for, if anything. */
  join(): Promise<void> | undefined {
    if (++this.inThisTurn > 1) return this.clock.turn();
    const end = this.clock.turn().then(() => {
      this.inLastTurn = this.inThisTurn;
      this.inThisTurn = 0;
    });
    return this.inLastTurn > 1 ? end : undefined;
  }
}
