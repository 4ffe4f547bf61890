import { type ArgumentMetadata, BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import { checkInput } from './check-input.js';
import { type Class } from './class.js';

/** What `emitDecoratorMetadata` writes for parameters that have no class of their own. */
const NO_DTO = new Set<unknown>([undefined, Object, Array, String, Number, Boolean]);

/**
 * Nest's `ValidationPipe` for DTO classes, compiled: the handler gets an instance of the DTO with its known fields and
 * no others, or the request is 400 `{ code, message, fields }` naming every wrong field. Strings in `@Query()` and
 * `@Param()` are converted as their validators say, and a key given twice is wrong.
 *
 * Single values (`@Query('x') x: string`) and custom parameters pass as they are. A whole `@Body()` or `@Query()`
 * without a DTO class is an error of the program, not a pass: such is what remains of a DTO imported as a type.
 */
@Injectable()
export class CompiledValidationPipe implements PipeTransform {
  transform(input: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'custom' || data !== undefined) return input;
    if (NO_DTO.has(metatype)) {
      throw new Error(`A whole @${type}() needs a DTO class, imported as a value, not with "import type".`);
    }
    const checked = checkInput(metatype as Class, input, type === 'body' ? 'json' : 'query');
    if (checked.ok) return checked.value;
    throw new BadRequestException(checked.error);
  }
}
