import { Exclude, Expose, Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsInt,
  IsOptional,
  IsString,
  registerDecorator,
  ValidateIf,
  ValidateNested,
  ValidatePromise,
  ValidatorConstraint,
} from 'class-validator';
import { describe, expect, it } from 'vitest';
import { checkInput } from '../../src/common/validation/check-input.js';
import { type Class } from '../../src/common/validation/class.js';
import { DtoError } from '../../src/common/validation/dto-error.js';
import { DtoValidator, type Source } from '../../src/common/validation/dto-validator.js';
import { ItemDto } from './dtos.js';

/** A class `Dto` with one property `field`, decorated so. */
function dtoWith(...decorators: PropertyDecorator[]): Class {
  class Dto {}
  for (const decorate of decorators) decorate(Dto.prototype, 'field');
  return Dto;
}

function custom(options: {
  async?: boolean;
  validator: Function | { validate(): boolean | Promise<boolean> };
}) {
  return (object: object, propertyName: string | symbol) => {
    registerDecorator({
      name: 'custom',
      target: object.constructor,
      propertyName: String(propertyName),
      ...options,
    });
  };
}

class Undecorated {
  validate = () => true;
}

@ValidatorConstraint({ name: 'first' })
@ValidatorConstraint({ name: 'second' })
class Twice {
  validate = () => true;
}

const compile = (dto: Class, source: Source = 'json') => checkInput(dto, {}, source);

describe('a DTO', () => {
  it('is compiled once for each source', () => {
    expect(DtoValidator.for(ItemDto, 'json')).toBe(DtoValidator.for(ItemDto, 'json'));
    expect(DtoValidator.for(ItemDto, 'query')).not.toBe(DtoValidator.for(ItemDto, 'json'));
  });
});

describe('a DTO that cannot be compiled', () => {
  it.each<[string, string, PropertyDecorator[]]>([
    ['isString', 'groups', [IsString({ groups: ['a'] })]],
    ['isString', 'validateIf', [IsString({ validateIf: () => true })]],
    ['conditionalValidation', 'only @IsOptional', [IsString(), ValidateIf(() => true)]],
    ['promiseValidation', 'not supported', [ValidatePromise()]],
    ['custom', 'asynchronously', [custom({ async: true, validator: { validate: () => true } })]],
    ['custom', 'asynchronously', [custom({ validator: { validate: () => Promise.resolve(true) } })]],
    ['custom', 'no @ValidatorConstraint', [custom({ validator: Undecorated })]],
    ['custom', 'more than one', [custom({ validator: Twice })]],
    ['ValidateNested', 'it needs @Type', [ValidateNested()]],
    ['Type', 'it needs @ValidateNested', [IsInt(), Type(() => Number)]],
    [
      'Type',
      'discriminators',
      [ValidateNested(), Type(() => ItemDto, { discriminator: { property: 'a', subTypes: [] } })],
    ],
    ['Expose', 'class-transformer', [IsString(), Expose({ name: 'other' })]],
    ['Exclude', 'class-transformer', [IsString(), Exclude()]],
    ['Transform', 'class-transformer', [IsString(), Transform(({ value }) => value as unknown)]],
  ])('names itself, its property and @%s: %s', (decorator, reason, decorators) => {
    const dto = dtoWith(...decorators);
    for (const attempt of ['first', 'second']) {
      expect(() => compile(dto), attempt).toThrow(DtoError);
      expect(() => compile(dto), attempt).toThrow(
        new RegExp(`^Dto\\.field: cannot compile @${decorator}: .*${reason}`),
      );
    }
  });

  it.each<[string, PropertyDecorator[]]>([
    ['isArray', [IsArray()]],
    ['ValidateNested', [ValidateNested(), Type(() => ItemDto)]],
  ])('cannot come from a query with @%s', (decorator, decorators) => {
    expect(() => compile(dtoWith(...decorators))).not.toThrow();
    expect(() => compile(dtoWith(...decorators), 'query')).toThrow(
      `@${decorator}: a query holds single strings`,
    );
  });

  it('has no validators', () => {
    class Bare {}
    expect(() => compile(Bare)).toThrow('Bare is no DTO');
  });

  it('has a property that every object has', () => {
    class Bad {}
    IsOptional()(Bad.prototype, 'toString');
    expect(() => compile(Bad)).toThrow('Bad.toString');
  });

  it('contains itself', () => {
    class Tree {}
    ValidateNested()(Tree.prototype, 'child');
    Type(() => Tree)(Tree.prototype, 'child');
    expect(() => compile(Tree)).toThrow('Tree contains itself');
  });
});
