import { DtoError } from './dto-error.js';
import { type PropertyMetadata } from './metadata.js';
import { type Class } from './class.js';

/** What a query string holds, as the value its property declares; what cannot be converted is left to the validators. */
export type Convert = (text: string) => unknown;

const WHOLE = /^-?\d{1,16}$/;
const DECIMAL = /^-?\d{1,16}(?:\.\d{1,16})?$/;

const toWhole: Convert = (text) =>
  WHOLE.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text;

const CONVERSIONS: Readonly<Record<string, Convert>> = {
  isInt: toWhole,
  isWhole: toWhole,
  isNumber: (text) => (DECIMAL.test(text) ? Number(text) : text),
  isBoolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
};

/** Decorators of lists: a query gives each key once. */
const LISTS = new Set(['isArray', 'arrayMinSize', 'arrayMaxSize']);

/** Chooses the conversion by the validators a property has: `IsInt` or ours of whole numbers, `IsNumber`, `IsBoolean`, else none. */
export function queryConversion(dto: Class, property: PropertyMetadata): Convert {
  if (property.nested) throw inQuery(dto, property, 'ValidateNested');
  const names = property.constraints.map(({ name }) => name ?? '');
  const list = names.find((name) => LISTS.has(name));
  if (list !== undefined) throw inQuery(dto, property, list);
  const converted = names.find((name) => Object.hasOwn(CONVERSIONS, name));
  return (converted !== undefined && CONVERSIONS[converted]) || asText;
}

function asText(text: string): string {
  return text;
}

function inQuery(dto: Class, { name }: PropertyMetadata, decorator: string): DtoError {
  return new DtoError(dto, name, decorator, 'a query holds single strings');
}
