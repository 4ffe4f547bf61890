import { type Class } from './class.js';
import { Constraint } from './constraint.js';
import { fillIn } from './message-template.js';
import { type PropertyMetadata } from './metadata.js';
import { type Problems } from './problems.js';
import { PropertyRule, type Take } from './property-rule.js';
import { queryConversion } from './query-value.js';

type CompileNested = (nested: Class) => { read(input: object, problems: Problems, parent: string): object };

export function compileProperty(
  dto: Class,
  property: PropertyMetadata,
  inQuery: boolean,
  compileNested: CompileNested,
): PropertyRule {
  const take = inQuery ? takeOnce(dto, property) : takeNested(dto, property, compileNested);
  const constraints = property.constraints.map((metadata) => new Constraint(dto, metadata));
  return new PropertyRule(property.name, property.optional, take, constraints);
}

function takeOnce(dto: Class, property: PropertyMetadata): Take {
  const convert = queryConversion(dto, property);
  return (value, problems, path) => {
    if (typeof value === 'string') return convert(value);
    problems.add(path, `${path} must be given once`);
    return undefined;
  };
}

function takeNested(
  dto: Class,
  { name, nested }: PropertyMetadata,
  compileNested: CompileNested,
): Take | undefined {
  if (nested === undefined) return undefined;
  const validator = compileNested(nested.type);
  const takeOne: Take = (value, problems, path) => {
    if (isObject(value)) return validator.read(value, problems, `${path}.`);
    const args = { value, constraints: [], targetName: dto.name, object: dto, property: name };
    problems.add(path, fillIn(nested.message, args, path));
    return value;
  };
  return (value, problems, path) =>
    Array.isArray(value)
      ? value.map((item, index) => takeOne(item, problems, `${path}.${index}`))
      : takeOne(value, problems, path);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
