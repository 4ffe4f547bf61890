import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { type Class } from './class.js';
import { DtoError } from './dto-error.js';
import { nestedType } from './nested-type.js';

export type Metadata = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];

/** What class-validator and class-transformer were told about one property. */
export interface PropertyMetadata {
  readonly name: string;
  readonly optional: boolean;
  readonly constraints: readonly Metadata[];
  readonly nested: { readonly message: Metadata['message']; readonly type: Class } | undefined;
}

export function decoratorName({ name, type, constraintCls }: Metadata): string {
  return name ?? constraintCls?.name ?? type;
}

/** The properties of a DTO class and of those it extends. Throws for decorators that mean more than can be compiled. */
export function propertiesOf(dto: Class): PropertyMetadata[] {
  const storage = getMetadataStorage();
  const all = storage.getTargetValidationMetadatas(dto, '', false, false);
  for (const metadata of all) assertCompilable(dto, metadata);
  const byName = Object.entries(storage.groupByPropertyName(all));
  if (byName.length === 0) throw new Error(`${dto.name} is no DTO: none of its properties has a validator.`);
  return byName.map(([name, metadata]) => readProperty(dto, name, metadata));
}

function readProperty(dto: Class, name: string, metadata: readonly Metadata[]): PropertyMetadata {
  const nested = metadata.find(({ type }) => type === ValidationTypes.NESTED_VALIDATION);
  const type = nestedType(dto, name, nested !== undefined);
  return {
    name,
    optional: metadata.some(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION),
    constraints: metadata.filter(({ type }) => CONSTRAINTS.has(type)),
    nested: nested && type && { message: nested.message, type },
  };
}

const CONSTRAINTS = new Set([ValidationTypes.CUSTOM_VALIDATION, ValidationTypes.IS_DEFINED]);

const COMPILABLE = new Set([
  ...CONSTRAINTS,
  ValidationTypes.NESTED_VALIDATION,
  ValidationTypes.CONDITIONAL_VALIDATION,
  ValidationTypes.WHITELIST,
]);

function assertCompilable(dto: Class, metadata: Metadata): void {
  const refuse = (reason: string) =>
    new DtoError(dto, metadata.propertyName, decoratorName(metadata), reason);
  if (metadata.propertyName in Object.prototype) throw refuse('every object has a property of this name');
  if (!COMPILABLE.has(metadata.type)) throw refuse('validators of this kind are not supported');
  if (metadata.groups?.length > 0) throw refuse('groups are not supported');
  if (metadata.validateIf) throw refuse('the option `validateIf` is not supported');
  if (metadata.type === ValidationTypes.CONDITIONAL_VALIDATION && metadata.name !== 'isOptional') {
    throw refuse('of the conditions only @IsOptional is supported');
  }
}
