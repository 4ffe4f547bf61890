import { Few } from './few.js';

/** So many that the next request for a resource mostly finds what it needs there already. */
const MOST_EMPTY = 1024;

/**
 * Something about each key. By resource first: whoever names it has its hash at hand, which a name made of type and resource
 * would have to be made and read through for. One type is the rule.
 *
 * A resource whose last key is gone keeps its place until there are many of them, and then all get a new table. One that is emptied
 * and filled again and again would leave a trail of tables: V8 has each point to the next, and one that has grown old keeps those after it
 * alive, with what they held, until everything is collected.
 */
export class KeyMap<V> {
  private resources = new Map<string, Few<string, V>>();
  /** Resources without keys. */
  private empty = 0;

  get(type: string, resourceId: string): V | undefined {
    return this.resources.get(resourceId)?.get(type);
  }

  set(type: string, resourceId: string, value: V): void {
    const types = this.resources.get(resourceId);
    if (types === undefined) return this.add(type, resourceId, value);
    if (types.size === 0) this.empty--;
    types.set(type, value);
  }

  delete(type: string, resourceId: string): void {
    const types = this.resources.get(resourceId);
    if (types === undefined || types.size === 0) return;
    types.delete(type);
    if (types.size > 0) return;
    this.empty++;
    if (this.empty > MOST_EMPTY && this.empty > this.resources.size / 2) this.forgetEmpty();
  }

  clear(): void {
    this.resources = new Map();
    this.empty = 0;
  }

  *values(): Iterable<V> {
    for (const types of this.resources.values()) for (const [, value] of types.entries()) yield value;
  }

  /** As many as it has room for, with keys or without. */
  get size(): number {
    return this.resources.size;
  }

  private add(type: string, resourceId: string, value: V): void {
    const types = new Few<string, V>();
    types.set(type, value);
    this.resources.set(resourceId, types);
  }

  private forgetEmpty(): void {
    const full = new Map<string, Few<string, V>>();
    for (const [resourceId, types] of this.resources) if (types.size > 0) full.set(resourceId, types);
    this.resources = full;
    this.empty = 0;
  }
}
