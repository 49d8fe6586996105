import type { BigIntStats } from 'node:fs';
import { Folder, within } from '../../../runtimes/directories/folder.ts';
import { HIDDEN_FOLDER } from '../../../runtimes/directories/sweep-uploads.ts';
import { fromBytes } from './key-bytes.ts';
import { type Leaf, openChild } from './leaf-directory.ts';
import type { NameCache } from './name-cache.ts';
import { orGone } from './or-gone.ts';

/** An entry of a listing, in the order of keys. Keys here have a character for each byte; a directory's key ends with a slash. */
export interface FoundKey {
  key: string;
  /** All keys that begin with it, as one: a directory of a listing by directories. */
  isPrefix: boolean;
  /** Null: it went away since its name was read. Undefined: it has not been looked at. */
  stats?: BigIntStats | null;
}

export interface WalkOptions {
  names: NameCache;
  owner: string;
  prefix: string;
  /** Stops at directories instead of going into them. */
  byDirectory: boolean;
  /** Only what comes after this key. */
  after: string;
  isContinued: boolean;
}

/**
 * Yields the keys under a prefix in the order of their bytes: files, and empty directories. Opens one directory per level. A directory
 * that goes away meanwhile is left out.
 */
export async function* walkKeys(root: Folder, options: WalkOptions): AsyncGenerator<FoundKey> {
  const { prefix } = options;
  const slash = prefix.lastIndexOf('/');
  const base = prefix.slice(0, slash + 1);
  const names = base === '' ? [] : base.slice(0, -1).split('/').map(fromBytes);
  const isNone = (name: string) => ['', '.', '..'].includes(name) || name.includes('\0');
  if (names.some(isNone) || names[0] === HIDDEN_FOLDER) return;
  if (options.after > prefix && !options.after.startsWith(prefix)) return;
  const start = await openStart(root, names);
  if (start === null) return;
  try {
    const visitor = new Visitor(options);
    const isEmpty = yield* visitor.visit(start, base, prefix.slice(slash + 1), 0);
    if (isEmpty && base !== '' && prefix === base && base > options.after) yield { key: base, isPrefix: false };
  } finally {
    if (start !== root) await start.close();
  }
}

async function openStart(root: Folder, names: readonly string[]): Promise<Folder | null> {
  if (names.length === 0) return root;
  return within(root, names.slice(0, -1), false, (folder) => folder.enter(names.at(-1)!)).catch(orGone);
}

/** Leaves that are opened at once, once one was met: each takes a few calls that wait for each other. */
const AHEAD = 8;

class Visitor {
  readonly #options: WalkOptions;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Returns whether there is nothing in the directory. `start`: what its names must begin with. */
  async *visit(folder: Folder, base: string, start: string, depth: number): AsyncGenerator<FoundKey, boolean> {
    const { names: cache, after, byDirectory } = this.#options;
    const options = { ...this.#options, isTop: base === '', depth };
    const children = new Children(folder, cache);
    try {
      for (let first: string | null = firstName(base, start, after); first !== null; ) {
        const names = await cache.read(folder, first, options);
        if (names.count === 0 && names.end === null) return names.first === '';
        for (const [name, next] of lookAhead(names.from(first), byDirectory ? 0 : AHEAD)) {
          if (!name.startsWith(start)) {
            if (name > start) return false;
            continue;
          }
          const key = base + name;
          const isInside = name.endsWith('/') && after.startsWith(key);
          if (key <= after && !isInside) continue;
          if (!name.endsWith('/')) yield { key, isPrefix: false };
          else if (!byDirectory) yield* this.#descend(await children.open(name, next), key, depth + 1);
          else if (key !== after) yield { key, isPrefix: true };
        }
        first = names.end;
      }
      return false;
    } finally {
      await children.close();
    }
  }

  async *#descend(child: Folder | Leaf | null, key: string, depth: number): AsyncGenerator<FoundKey> {
    if (child === null) return;
    if (!(child instanceof Folder)) {
      yield* this.#visitLeaf(child, key);
      return;
    }
    try {
      const isEmpty = yield* this.visit(child, key, '', depth);
      if (isEmpty && key > this.#options.after) yield { key, isPrefix: false };
    } finally {
      await child.close();
    }
  }

  *#visitLeaf({ names, stats, own }: Leaf, base: string): Generator<FoundKey> {
    const { after } = this.#options;
    for (const [i, name] of names.entries()) {
      const key = base + name;
      if (key > after) yield { key, isPrefix: false, stats: stats[i]! };
    }
    if (names.length === 0 && base > after) yield { key: base, isPrefix: false, stats: own };
  }
}

/** Opens the directories of one, the next ones ahead as long as they are leaves. */
class Children {
  readonly #folder: Folder;
  readonly #cache: NameCache;
  readonly #opened = new Map<string, ReturnType<typeof openChild>>();
  #wasLeaf = false;

  constructor(folder: Folder, cache: NameCache) {
    this.#folder = folder;
    this.#cache = cache;
  }

  /** The caller closes it. `next`: the names behind it. */
  async open(name: string, next: readonly string[]): ReturnType<typeof openChild> {
    const child = this.#begin(name);
    if (this.#wasLeaf) for (const one of next) if (one.endsWith('/')) this.#begin(one);
    this.#opened.delete(name);
    const opened = await child;
    this.#wasLeaf = opened !== null && !(opened instanceof Folder);
    return opened;
  }

  /** Closes those that were opened and not asked for. */
  async close(): Promise<void> {
    for (const child of this.#opened.values()) {
      const opened = await child.catch(() => null);
      if (opened instanceof Folder) await opened.close();
    }
  }

  #begin(name: string): ReturnType<typeof openChild> {
    const known = this.#opened.get(name);
    if (known) return known;
    const child = openChild(this.#folder, name.slice(0, -1), this.#cache);
    child.catch(() => {}); // thrown where it is asked for
    this.#opened.set(name, child);
    return child;
  }
}

/** Yields each name with up to `count` names behind it, in an array that changes. */
function* lookAhead(names: Iterable<string>, count: number): Generator<[string, readonly string[]]> {
  const next: string[] = [];
  for (const name of names) if (next.push(name) > count) yield [next.shift()!, next];
  while (next.length > 0) yield [next.shift()!, next];
}

/** The first name of a directory that can matter. */
function firstName(base: string, start: string, after: string): string {
  if (!after.startsWith(base)) return start;
  const rest = after.slice(base.length);
  const slash = rest.indexOf('/');
  const first = slash < 0 ? rest : rest.slice(0, slash + 1);
  return first > start ? first : start;
}
