/** A map in which one entry is the rule: that takes no more than the object itself. In the order of arrival, as any map. */
export class Few<K extends string | object, V> {
  private key: K | undefined;
  private value: V | undefined;
  /** Everything, once there have been several, until all are gone. */
  private many: Map<K, V> | undefined;

  get size(): number {
    return this.many ? this.many.size : this.key === undefined ? 0 : 1;
  }

  get(key: K): V | undefined {
    if (this.many) return this.many.get(key);
    return this.key === key ? this.value : undefined;
  }

  set(key: K, value: V): void {
    if (this.many) this.many.set(key, value);
    else if (this.key === undefined || this.key === key) this.keep(key, value);
    else {
      this.many = new Map<K, V>(this.entries()).set(key, value);
      this.keep(undefined, undefined);
    }
  }

  delete(key: K): void {
    if (this.many) this.deleteOfMany(this.many, key);
    else if (this.key === key) this.keep(undefined, undefined);
  }

  entries(): Iterable<readonly [K, V]> {
    return this.many ?? (this.key === undefined ? [] : [[this.key, this.value!]]);
  }

  /** One that is filled and emptied again and again gets a new table each time: see `KeyMap`. */
  private deleteOfMany(many: Map<K, V>, key: K): void {
    many.delete(key);
    if (many.size === 0) this.many = undefined;
  }

  private keep(key: K | undefined, value: V | undefined): void {
    this.key = key;
    this.value = value;
  }
}
