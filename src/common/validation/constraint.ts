import {
  getMetadataStorage,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { DtoError } from './dto-error.js';
import { fillIn, type MessageTemplate } from './message-template.js';
import { decoratorName, type Metadata } from './metadata.js';

/**
 * One constraint of one property, compiled: calls the very validator that class-validator would call, looked up once.
 * What class-validator decides anew each time (groups, conditions, promises) is refused here.
 */
export class Constraint {
  private readonly validator: ValidatorConstraintInterface;
  // Every decorator's validator is of a class of its own, so that looking this up is slow each time.
  private readonly validate: ValidatorConstraintInterface['validate'];
  private readonly each: boolean;
  // One for all calls, none of which outlives the next: making one costs more than most validators do.
  private readonly args: ValidationArguments;

  constructor(
    private readonly dto: Function,
    private readonly metadata: Metadata,
  ) {
    this.validator = validatorOf(dto, metadata);
    this.validate = this.validator.validate;
    this.each = metadata.each;
    this.args = {
      targetName: dto.name,
      property: metadata.propertyName,
      object: dto,
      value: undefined,
      constraints: metadata.constraints ?? [],
    };
  }

  passes(value: unknown, object: object): boolean {
    this.args.value = value;
    this.args.object = object;
    if (this.each && Array.isArray(value)) return value.every((item) => this.accepts(item));
    return this.accepts(value);
  }

  /** What is wrong with the value that has just not passed. */
  complaint(path: string): string {
    return fillIn(messageOf(this.metadata, this.validator, this.args), this.args, path);
  }

  private accepts(value: unknown): boolean {
    const verdict: unknown = this.validate.call(this.validator, value, this.args);
    if (typeof verdict === 'boolean') return verdict;
    if (!isThenable(verdict)) return Boolean(verdict);
    throw refusal(this.dto, this.metadata, 'it validates asynchronously');
  }
}

function validatorOf(dto: Function, metadata: Metadata): ValidatorConstraintInterface {
  const [found, second] = getMetadataStorage().getTargetValidatorConstraints(metadata.constraintCls);
  if (found === undefined) throw refusal(dto, metadata, 'its class has no @ValidatorConstraint()');
  if (second !== undefined)
    throw refusal(dto, metadata, 'its class has more than one @ValidatorConstraint()');
  if (found.async) throw refusal(dto, metadata, 'it validates asynchronously');
  return found.instance;
}

function refusal(dto: Function, metadata: Metadata, reason: string): DtoError {
  return new DtoError(dto, metadata.propertyName, decoratorName(metadata), reason);
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
