import { applyDecorators } from '@nestjs/common';
import { IsInt, Min, ValidateBy } from 'class-validator';
import {
  MAX_LEASE_MS,
  MAX_NODE_ID_LENGTH,
  MAX_RESOURCE_ID_LENGTH,
  MAX_SESSION_ID_LENGTH,
  SUBTYPE_PATTERN,
  TYPE_PATTERN,
} from '../../core/limits.js';

export function IsResourceId(): PropertyDecorator {
  return IsName(MAX_RESOURCE_ID_LENGTH);
}

export function IsNodeId(): PropertyDecorator {
  return IsName(MAX_NODE_ID_LENGTH);
}

export function IsSessionId(): PropertyDecorator {
  return IsName(MAX_SESSION_ID_LENGTH);
}

export function IsOperationType(): PropertyDecorator {
  return IsWord(TYPE_PATTERN);
}

export function IsSubtype(): PropertyDecorator {
  return IsWord(SUBTYPE_PATTERN);
}

/** A fencing token: a revision, so never 0. */
export function IsToken(): PropertyDecorator {
  return IsWhole(1, Number.MAX_SAFE_INTEGER);
}

/** The longest is a setting, and checked where it is known. */
export function IsWaitMs(): PropertyDecorator {
  const message = '$property must be a whole number, at least 0';
  return applyDecorators(IsInt({ message }), Min(0, { message }));
}

export function IsLeaseMs(): PropertyDecorator {
  return IsWhole(0, MAX_LEASE_MS);
}

/** Any text, its length counted as that of names. */
export function IsText(minLength: number, maxLength: number): PropertyDecorator {
  const length = minLength === 0 ? `at most ${maxLength}` : `${minLength} to ${maxLength}`;
  return MustBe(`a string of ${length} characters`, 'isText', [minLength, maxLength], (value) => {
    return typeof value === 'string' && value.length >= minLength && value.length <= maxLength;
  });
}

export function IsWhole(min: number, max: number): PropertyDecorator {
  return MustBe(`a whole number from ${min} to ${max}`, 'isWhole', [min, max], (value) => {
    return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  });
}

/** Control characters, and halves of surrogate pairs (`\p{Cs}` matches no whole ones). Both break keys and logs. */
const UNCLEAN = /[\p{Cc}\p{Cs}]/u;

/**
 * A name that somebody else chose. Its length is counted in UTF-16 units, of at most three bytes each, as the stores'
 * limits on keys are. class-validator's `Length` counts otherwise: any number of variation selectors is free.
 */
function IsName(maxLength: number): PropertyDecorator {
  const what = `a string of 1 to ${maxLength} characters, none of them a control character`;
  return MustBe(what, 'isName', [maxLength], (value) => {
    return typeof value === 'string' && value.length > 0 && value.length <= maxLength && !UNCLEAN.test(value);
  });
}

/** In place of `IsString` and `Matches`, the latter of which makes an object of every match. */
function IsWord(pattern: RegExp): PropertyDecorator {
  const what = '1 to 64 letters, digits, dots, underscores or dashes, the first a letter or digit';
  return MustBe(what, 'isWord', [pattern], (value) => typeof value === 'string' && pattern.test(value));
}

/** All that a property may be in one sentence, whatever is wrong with it. */
function MustBe(
  what: string,
  name: string,
  constraints: unknown[],
  validate: (value: unknown) => boolean,
): PropertyDecorator {
  const validator = { validate, defaultMessage: () => `$property must be ${what}` };
  return ValidateBy({ name, constraints, validator });
}
