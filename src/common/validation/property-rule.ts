import { type Check } from './constraint.js';
import { type Problems } from './problems.js';

export type Fields = Record<string, unknown>;

/** Takes a value from the input: converted, or as an instance of a nested DTO. May find problems. */
export type Take = (value: unknown, problems: Problems, path: string) => unknown;

/**
 * One property of a DTO. First all properties are copied, then all are checked: a validator may look at its
 * neighbours.
 */
export class PropertyRule {
  constructor(
    private readonly name: string,
    private readonly optional: boolean,
    private readonly take: Take | undefined,
    private readonly checks: readonly Check[],
  ) {}

  /** What is absent leaves the DTO's own default; `null` is absent where absence is allowed. */
  copy(input: Fields, dto: Fields, problems: Problems, parent: string): void {
    const value = input[this.name];
    if (value === undefined || (value === null && this.optional)) return;
    dto[this.name] = this.take ? this.take(value, problems, parent + this.name) : value;
  }

  /** Of a value that is missing, that alone is said, however many validators mind. */
  check(dto: Fields, problems: Problems, parent: string): void {
    const value = dto[this.name];
    if (this.optional && (value === undefined || value === null)) return;
    const path = parent + this.name;
    for (const check of this.checks) {
      const message = check(value, dto, path);
      if (message === undefined) continue;
      if (value !== undefined) problems.add(path, message);
      else if (!problems.has(path)) problems.add(path, `${path} is required`);
    }
  }
}
