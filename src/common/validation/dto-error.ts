/** A DTO class that cannot be compiled: a mistake in the program, found when the class is first used. */
export class DtoError extends Error {
  override readonly name = 'DtoError';

  constructor(dto: Function, property: string, decorator: string, reason: string) {
    super(`${dto.name}.${property}: cannot compile @${decorator}: ${reason}`);
  }
}
