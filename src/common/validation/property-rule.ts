import { type Constraint } from './constraint.js';
import { type Problems } from './problems.js';

export type Fields = Record<string, unknown>;

/** Takes a value from the input: converted, or as an instance of a nested DTO. May find problems. */
export type Take = (value: unknown, problems: Problems, path: string) => unknown;

/** One property of a DTO. */
export class PropertyRule {
  constructor(
    readonly name: string,
    private readonly optional: boolean,
    private readonly take: Take | undefined,
    private readonly constraints: readonly Constraint[],
  ) {}

  get isCopied(): boolean {
    return this.take === undefined;
  }

  /** What is absent leaves the DTO's own default; `null` is absent where absence is allowed. */
  transfer(dto: Fields, value: unknown, problems: Problems, parent: string): void {
    if (value === undefined || (value === null && this.optional)) return;
    dto[this.name] = this.take ? this.take(value, problems, parent + this.name) : value;
  }

  /** Of a value that is missing, that alone is said, however many validators mind. */
  check(dto: Fields, problems: Problems, parent: string): void {
    const value = dto[this.name];
    if (this.optional && (value === undefined || value === null)) return;
    for (const constraint of this.constraints) {
      if (constraint.passes(value, dto)) continue;
      const path = parent + this.name;
      if (value !== undefined) problems.add(path, constraint.complaint(path));
      else if (!problems.has(path)) problems.add(path, `${path} is required`);
    }
  }
}
