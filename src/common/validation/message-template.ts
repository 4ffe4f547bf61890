import { type ValidationArguments } from 'class-validator';

/** A message as class-validator lets one write it: with `$property`, `$value`, `$target`, `$constraint1`, … */
export type MessageTemplate = string | ((args: ValidationArguments) => string);

/** Fills in a message. `$property` becomes the whole path, so that an item of a batch can be found. */
export function fillIn(template: MessageTemplate, args: ValidationArguments, path: string): string {
  const text = typeof template === 'function' ? template(args) : template;
  return text.replaceAll(
    /\$(constraint(\d+)|property|value|target)/g,
    (token, name: string, index?: string) => {
      if (index !== undefined) return constraintText(args.constraints[Number(index) - 1]) ?? token;
      if (name === 'property') return path;
      if (name === 'target') return args.targetName;
      return isScalar(args.value) ? String(args.value) : token;
    },
  );
}

function constraintText(constraint: unknown): string | undefined {
  if (Array.isArray(constraint)) return constraint.join(', ');
  return isScalar(constraint) || constraint instanceof RegExp ? String(constraint) : undefined;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
