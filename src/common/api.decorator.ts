import { applyDecorators, Controller, UseFilters, UsePipes } from '@nestjs/common';
import { ApiErrorFilter } from './api-error.filter.js';
import { CompiledValidationPipe } from './validation/compiled-validation.pipe.js';

/** A controller of ours: validated by compiled DTOs, errors as `{code, message}`; nothing global in an app that embeds it. */
export function ApiController(path = ''): ClassDecorator {
  return applyDecorators(Controller(path), UseFilters(ApiErrorFilter), UsePipes(CompiledValidationPipe));
}
