import 'reflect-metadata';
import { Type } from 'class-transformer';
import {
  Allow,
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  registerDecorator,
  ValidateNested,
  type ValidationArguments,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import {
  IsLeaseMs,
  IsNodeId,
  IsOperationType,
  IsResourceId,
  IsSessionId,
  IsSubtype,
  IsToken,
} from '../../src/common/validation/decorators.js';

/** Every decorator of ours. */
export class LockDto {
  @IsOperationType() type!: string;
  @IsResourceId() resource_id!: string;
  @IsNodeId() node_id!: string;
  @IsOptional() @IsSessionId() session_id?: string;
  @IsOptional() @IsSubtype() subtype?: string;
  @IsOptional() @IsLeaseMs() lease_ms?: number;
  @IsOptional() @IsToken() token?: number;
  @IsOptional() @IsBoolean() absent?: boolean;
  @IsOptional() @IsIn(['stay', 'leave']) on_timeout?: string;
}

@ValidatorConstraint({ name: 'isEven' })
class EvenConstraint implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return typeof value === 'number' && value % 2 === 0;
  }

  defaultMessage({ property }: ValidationArguments): string {
    return `${property} must be even, not $value`;
  }
}

/** A constraint in a class of its own. */
export function IsEven(): PropertyDecorator {
  return (object, propertyName) => {
    registerDecorator({
      target: object.constructor,
      propertyName: String(propertyName),
      validator: EvenConstraint,
    });
  };
}

/** A constraint that looks at a neighbour. */
export function IsNotLessThan(other: string): PropertyDecorator {
  return (object, propertyName) => {
    registerDecorator({
      name: 'isNotLessThan',
      target: object.constructor,
      propertyName: String(propertyName),
      constraints: [other],
      validator: {
        validate: (value: unknown, args?: ValidationArguments) => {
          const least = (args?.object as Record<string, unknown> | undefined)?.[other];
          return typeof value === 'number' && (typeof least !== 'number' || value >= least);
        },
        defaultMessage: () => '$property must not be less than $constraint1',
      },
    });
  };
}

/** Every other decorator that is promised. */
export class KindsDto {
  @IsString() @Length(2, 4) length!: string;
  @MinLength(2) min_length!: string;
  @IsOptional() @MaxLength(3) max_length?: string;
  @Matches(/^a+$/) matches!: string;
  @IsInt() @Min(-2) @Max(3) int!: number;
  @IsNumber() number!: number;
  @IsBoolean() boolean!: boolean;
  @IsDefined() defined!: unknown;
  @IsIn(['a', 1, null]) in!: unknown;
  @IsArray() @ArrayMinSize(1) @ArrayMaxSize(3) @IsString({ each: true }) array!: string[];
  @Allow() allowed?: unknown;
  @IsOptional() @IsEven() even?: number;
  @IsOptional() @IsNotLessThan('int') not_less?: number;
}

export class ItemDto {
  @IsOperationType() type!: string;
  @IsOptional() @IsInt() size?: number;
}

/** Lists and single objects of another DTO, required and not, and a class that extends another. */
export class BatchDto extends ItemDto {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(3)
  @ValidateNested({ each: true })
  @Type(() => ItemDto)
  requests!: ItemDto[];

  @IsDefined() @ValidateNested() @Type(() => ItemDto) one!: ItemDto;
  @IsOptional() @ValidateNested() @Type(() => ItemDto) maybe?: ItemDto;
}

/** As of a query string. */
export class QueryDto {
  @IsResourceId() resource_id!: string;
  @IsOptional() @IsInt() @Min(1) limit?: number;
  @IsOptional() @IsNumber() share?: number;
  @IsOptional() @IsBoolean() bind?: boolean;
  @IsOptional() @IsToken() token?: number;
}
