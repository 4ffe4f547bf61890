/** A class that is made without arguments, as a DTO is. */
export type Class<T extends object = object> = new () => T;
