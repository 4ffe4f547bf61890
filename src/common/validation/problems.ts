/** The body of a 400: `message` says it all to a person, `fields` has every wrong field for a program. */
export interface BadRequest {
  readonly code: 'BAD_REQUEST';
  readonly message: string;
  readonly fields: Readonly<Record<string, readonly string[]>>;
}

/** A sentence with more than these is not read by anybody; `fields` still has them all. */
const MESSAGES_TOLD = 20;

/** What is wrong with an input, by field; the same words are kept once per field. */
export class Problems {
  /** Made for the first of them: most inputs have none. */
  private fields: Map<string, string[]> | undefined = undefined;

  /** A field is named by its path: `type`, or `requests.3.type`. */
  add(field: string, message: string): void {
    this.fields ??= new Map();
    const messages = this.fields.get(field);
    if (messages === undefined) this.fields.set(field, [message]);
    else if (!messages.includes(message)) messages.push(message);
  }

  has(field: string): boolean {
    return this.fields?.has(field) ?? false;
  }

  get found(): boolean {
    return this.fields !== undefined;
  }

  toBadRequest(): BadRequest {
    const fields = this.fields ?? new Map<string, string[]>();
    const message = sentence([...fields.values()].flat());
    return { code: 'BAD_REQUEST', message, fields: Object.fromEntries(fields) };
  }
}

function sentence(messages: readonly string[]): string {
  const told = messages.slice(0, MESSAGES_TOLD).join('; ');
  return messages.length > MESSAGES_TOLD ? `${told}; and ${messages.length - MESSAGES_TOLD} more` : told;
}
