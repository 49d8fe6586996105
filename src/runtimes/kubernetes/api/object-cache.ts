/** What is kept of an object of the cluster. */
export interface CachedObject {
  /** Unique within the cache. */
  key: string;
  uid: string;
  resourceVersion: string;
}

/** `gone`: `object` is its last known state. `before` is undefined for a new object. */
export type OnChange<T> = (kind: 'put' | 'gone', object: T, before: T | undefined) => void;

/** Objects of one kind by key, each in its newest version, with listeners for changes. */
export class ObjectCache<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<OnChange<T>>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  all(): IterableIterator<T> {
    return this.#objects.values();
  }

  subscribe(listener: OnChange<T>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores the object, unless this or a newer version of it is cached. */
  put(object: T): void {
    const before = this.#objects.get(object.key);
    if (before?.uid === object.uid && !isNewer(object, before.resourceVersion)) return;
    this.#objects.set(object.key, object);
    this.notify('put', object, before?.uid === object.uid ? before : undefined);
  }

  /** Removes the object given by its last known state, unless another one has taken its name. */
  remove(last: T): void {
    const before = this.#objects.get(last.key);
    if (before && before.uid !== last.uid) return;
    this.#objects.delete(last.key);
    this.notify('gone', last, before);
  }

  /** Replaces everything with a list made at `version`. Objects newer than the list stay. */
  replace(items: readonly T[], version: string): void {
    const listed = new Set(items.map(({ key }) => key));
    for (const item of items) this.put(item);
    for (const before of [...this.#objects.values()]) {
      if (!listed.has(before.key) && !isNewer(before, version)) this.remove(before);
    }
  }

  /** Calls the listeners without storing anything. */
  notify(kind: 'put' | 'gone', object: T, before: T | undefined): void {
    for (const listener of [...this.#listeners]) listener(kind, object, before);
  }
}

/** Resource versions of one kind are increasing numbers. */
export function isNewer({ resourceVersion }: CachedObject, than: string): boolean {
  return Number(resourceVersion) > Number(than);
}
