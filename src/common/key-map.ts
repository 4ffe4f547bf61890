import { Few } from './few.js';

/**
 * Something about each key. By resource first: whoever names it has its hash at hand, which a name made of type and resource
 * would have to be made and read through for. One type is the rule.
 */
export class KeyMap<V> {
  private readonly resources = new Map<string, Few<string, V>>();

  get(type: string, resourceId: string): V | undefined {
    return this.resources.get(resourceId)?.get(type);
  }

  set(type: string, resourceId: string, value: V): void {
    let types = this.resources.get(resourceId);
    if (!types) this.resources.set(resourceId, (types = new Few()));
    types.set(type, value);
  }

  delete(type: string, resourceId: string): void {
    const types = this.resources.get(resourceId);
    types?.delete(type);
    if (types?.size === 0) this.resources.delete(resourceId);
  }

  clear(): void {
    this.resources.clear();
  }

  *values(): Iterable<V> {
    for (const types of this.resources.values()) for (const [, value] of types.entries()) yield value;
  }
}
