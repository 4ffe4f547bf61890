import { type Class } from './class.js';
import { type Problems } from './problems.js';
import { compileProperty } from './compile-property.js';
import { propertiesOf } from './metadata.js';
import { type Fields, type PropertyRule } from './property-rule.js';

/** Where an input comes from: JSON has types of its own, a query string has only strings. */
export type Source = 'json' | 'query';

/**
 * A DTO class compiled once from class-validator's own metadata. Gives the verdict that class-validator would give on
 * `plainToInstance(Dto, input)`, without walking metadata and copying by reflection for each input.
 *
 * Fields without a validator are never copied. Differences, on purpose: `null` for an `@IsOptional` property is
 * absent (class-validator keeps the `null`); a list in a list of nested DTOs is refused, so that no input can be
 * nested deeper than its class; and a key `constructor` in the input does not crash.
 */
export class DtoValidator<T extends object = object> {
  private readonly copied: ReadonlyMap<string, PropertyRule>;
  private readonly converted: readonly PropertyRule[];

  private constructor(
    private readonly dto: Class<T>,
    private readonly rules: readonly PropertyRule[],
  ) {
    this.copied = new Map(rules.filter(({ isCopied }) => isCopied).map((rule) => [rule.name, rule]));
    this.converted = rules.filter(({ isCopied }) => !isCopied);
  }

  /** Throws for a class with a decorator that cannot be compiled (a `DtoError`), with no validator, or within itself. */
  static for<T extends object>(dto: Class<T>, source: Source): DtoValidator<T> {
    const known = COMPILED[source].get(dto) as DtoValidator<T> | undefined;
    if (known) return known;
    const validator = new DtoValidator(dto, compile(dto, source));
    COMPILED[source].set(dto, validator);
    return validator;
  }

  /** The input as a DTO; worth something only if no problems were added. `parent` prefixes their fields. */
  read(input: object, problems: Problems, parent = ''): T {
    const dto = new this.dto();
    this.transfer(dto as Fields, input as Fields, problems, parent);
    // Not before all are there: a validator may look at its neighbours.
    for (const rule of this.rules) rule.check(dto as Fields, problems, parent);
    return dto;
  }

  private transfer(dto: Fields, input: Fields, problems: Problems, parent: string): void {
    // By what the input has: most inputs lack most properties, and what is absent takes longest to look for.
    for (const name in input) this.copied.get(name)?.transfer(dto, input[name], problems, parent);
    // In the order of the class: these may find problems, which are told in that order.
    for (const rule of this.converted) rule.transfer(dto, input[rule.name], problems, parent);
  }
}

const COMPILED: Record<Source, WeakMap<Class, DtoValidator>> = { json: new WeakMap(), query: new WeakMap() };

const COMPILING = new Set<Class>();

function compile(dto: Class, source: Source): PropertyRule[] {
  if (COMPILING.has(dto))
    throw new Error(`${dto.name} contains itself: its input could be nested without end.`);
  COMPILING.add(dto);
  try {
    return propertiesOf(dto).map((property) =>
      compileProperty(dto, property, source === 'query', (nested) => DtoValidator.for(nested, source)),
    );
  } finally {
    COMPILING.delete(dto);
  }
}
