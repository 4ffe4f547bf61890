import { type Class } from './class.js';
import { DtoValidator, type Source } from './dto-validator.js';
import { type BadRequest, Problems } from './problems.js';

export type Checked<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: BadRequest };

const NO_OBJECT: BadRequest = {
  code: 'BAD_REQUEST',
  message: 'The request must be a JSON object',
  fields: {},
};

/**
 * Validates an input by a DTO class, naming every field that is wrong. The pipe is this and an exception; code that
 * answers for several inputs at once (a batch) calls it for each. An instance of the class has been checked already:
 * no request can bring one.
 */
export function checkInput<T extends object>(
  dto: Class<T>,
  input: unknown,
  source: Source = 'json',
): Checked<T> {
  if (input instanceof dto) return { ok: true, value: input };
  const validator = DtoValidator.for(dto, source);
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return { ok: false, error: NO_OBJECT };
  const problems = new Problems();
  const value = validator.read(input, problems);
  return problems.found ? { ok: false, error: problems.toBadRequest() } : { ok: true, value };
}
