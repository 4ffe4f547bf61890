import {
  getMetadataStorage,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { DtoError } from './dto-error.js';
import { fillIn, type MessageTemplate } from './message-template.js';
import { decoratorName, type Metadata } from './metadata.js';

/** One constraint of one property: the message if the value breaks it. Arguments: value, the DTO, path of the field. */
export type Check = (value: unknown, object: object, path: string) => string | undefined;

/**
 * Compiles one constraint by calling the very validator that class-validator would call, looked up once. What
 * class-validator decides anew each time (groups, conditions, promises) is refused here.
 */
export function compileConstraint(dto: Function, metadata: Metadata): Check {
  const decorator = decoratorName(metadata);
  const validator = validatorOf(dto, metadata, decorator);
  // One for all calls, none of which outlives the next: making one costs more than most validators do.
  const args: ValidationArguments = {
    targetName: dto.name,
    property: metadata.propertyName,
    object: dto,
    value: undefined,
    constraints: metadata.constraints ?? [],
  };
  const passes = (value: unknown): boolean => {
    const verdict: unknown = validator.validate(value, args);
    if (typeof verdict === 'boolean') return verdict;
    if (!isThenable(verdict)) return Boolean(verdict);
    throw new DtoError(dto, metadata.propertyName, decorator, 'it validates asynchronously');
  };
  return (value, object, path) => {
    args.value = value;
    args.object = object;
    const passed = metadata.each && Array.isArray(value) ? value.every(passes) : passes(value);
    return passed ? undefined : fillIn(messageOf(metadata, validator, args), args, path);
  };
}

function validatorOf(dto: Function, metadata: Metadata, decorator: string): ValidatorConstraintInterface {
  const refuse = (reason: string) => new DtoError(dto, metadata.propertyName, decorator, reason);
  const [found, second] = getMetadataStorage().getTargetValidatorConstraints(metadata.constraintCls);
  if (found === undefined) throw refuse('its class has no @ValidatorConstraint()');
  if (second !== undefined) throw refuse('its class has more than one @ValidatorConstraint()');
  if (found.async) throw refuse('it validates asynchronously');
  return found.instance;
}

function messageOf(
  metadata: Metadata,
  validator: ValidatorConstraintInterface,
  args: ValidationArguments,
): MessageTemplate {
  return metadata.message || validator.defaultMessage?.(args) || '$property is not valid';
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value;
}
