import { createRequire } from 'node:module';
import { TransformationType } from 'class-transformer';
import { type Class } from './class.js';
import { DtoError } from './dto-error.js';

/** class-transformer's package does not export the storage its decorators write to; Nest's own packages read it so too. */
const { defaultMetadataStorage: storage } = createRequire(import.meta.url)(
  'class-transformer/cjs/storage.js',
) as typeof import('class-transformer/types/storage.js');

/**
 * The class that `@Type` names for a property marked `@ValidateNested`. class-transformer itself never runs, so a
 * decorator that asks for one of its conversions is refused.
 */
export function nestedType(dto: Class, name: string, isNested: boolean): Class | undefined {
  assertUntransformed(dto, name);
  const type = storage.findTypeMetadata(dto, name);
  if (type === undefined) {
    if (isNested) throw new DtoError(dto, name, 'ValidateNested', 'it needs @Type');
    return undefined;
  }
  if (!isNested) throw new DtoError(dto, name, 'Type', 'it needs @ValidateNested');
  if (type.options?.discriminator) throw new DtoError(dto, name, 'Type', 'discriminators are not supported');
  return type.typeFunction() as Class;
}

function assertUntransformed(dto: Class, name: string): void {
  const [transformed] = storage.findTransformMetadatas(dto, name, TransformationType.PLAIN_TO_CLASS);
  const found = {
    Expose: storage.findExposeMetadata(dto, name),
    Exclude: storage.findExcludeMetadata(dto, name),
    Transform: transformed,
  };
  for (const [decorator, metadata] of Object.entries(found)) {
    if (metadata) throw new DtoError(dto, name, decorator, 'class-transformer does not run');
  }
}
