import { type Moment } from '../../src/core/moment.js';
import { type Result } from '../../src/core/results.js';

/**
 * Revisions differ from store to store; their order of appearance does not. Gives each revision that a client has seen the
 * number of its first appearance, so that what two systems say can be compared.
 */
export class Names {
  private readonly numbers = new Map<number, number>();
  private readonly tickets: Moment[] = [];
  private readonly tokens: number[] = [];

  /** The result in words that mean the same in every system. */
  result(result: Result): unknown {
    if ('ticket' in result) {
      const { ticket } = result;
      if (!this.tickets.some(({ revision, n }) => revision === ticket.revision && n === ticket.n)) {
        this.tickets.push(ticket);
      }
      return { ...result, ticket: { revision: this.number(ticket.revision), n: ticket.n } };
    }
    if ('token' in result) {
      if (!this.tokens.includes(result.token)) this.tokens.push(result.token);
      return { ...result, token: this.number(result.token) };
    }
    return 'error' in result ? { ...result, error: this.text(result.error) } : result;
  }

  /** Messages may name a token. */
  text(text: string): string {
    return text.replace(/\d{13,}/g, (digits) => `#${this.number(Number(digits))}`);
  }

  number(revision: number): number {
    const known = this.numbers.get(revision);
    if (known !== undefined) return known;
    this.numbers.set(revision, this.numbers.size);
    return this.numbers.size - 1;
  }

  /** One of the tickets given out so far, the newest first. */
  ticket(back: number): Moment | undefined {
    return this.tickets.at(-1 - back);
  }

  token(back: number): number | undefined {
    return this.tokens.at(-1 - back);
  }
}
