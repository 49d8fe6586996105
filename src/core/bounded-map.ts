/** A Map with at most `limit` entries: a new key beyond it evicts the oldest. For caches whose keys outsiders choose. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#limit && !this.has(key)) this.delete(this.keys().next().value!);
    return super.set(key, value);
  }
}

/** A Set with at most `limit` members: a new one beyond it evicts the oldest. */
export class BoundedSet<T> extends Set<T> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override add(value: T): this {
    if (this.size >= this.#limit && !this.has(value)) this.delete(this.values().next().value!);
    return super.add(value);
  }
}
