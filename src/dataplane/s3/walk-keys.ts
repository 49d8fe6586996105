import { codeOf, type Folder, within } from '../../runtimes/directories/folder.ts';
import { HIDDEN_FOLDER } from '../../runtimes/directories/sweep-uploads.ts';
import type { NameCache } from './name-cache.ts';

/** An entry of a listing, in the order of keys. Keys here have a character for each byte; a directory's key ends with a slash. */
export interface FoundKey {
  key: string;
  /** All keys that begin with it, as one: a directory of a listing by directories. */
  isPrefix: boolean;
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

/** Text with a character for each byte, of UTF-8; and back. */
export const toBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
export const fromBytes = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

async function openStart(root: Folder, names: readonly string[]): Promise<Folder | null> {
  if (names.length === 0) return root;
  return within(root, names.slice(0, -1), false, (folder) => folder.enter(names.at(-1)!)).catch(orGone);
}

class Visitor {
  readonly #options: WalkOptions;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Returns whether there is nothing in the directory. `start`: what its names must begin with. */
  async *visit(folder: Folder, base: string, start: string, depth: number): AsyncGenerator<FoundKey, boolean> {
    const { names: cache, after, byDirectory } = this.#options;
    const options = { ...this.#options, isTop: base === '', depth };
    for (let first: string | null = firstName(base, start, after); first !== null; ) {
      const names = await cache.read(folder, first, options);
      if (names.count === 0 && names.end === null) return names.first === '';
      for (const name of names.from(first)) {
        if (!name.startsWith(start)) {
          if (name > start) return false;
          continue;
        }
        const key = base + name;
        const isInside = name.endsWith('/') && after.startsWith(key);
        if (key <= after && !isInside) continue;
        if (!name.endsWith('/')) yield { key, isPrefix: false };
        else if (!byDirectory) yield* this.#descend(folder, name, key, depth + 1);
        else if (key !== after) yield { key, isPrefix: true };
      }
      first = names.end;
    }
    return false;
  }

  async *#descend(folder: Folder, name: string, key: string, depth: number): AsyncGenerator<FoundKey> {
    const child = await folder.enter(fromBytes(name.slice(0, -1))).catch(orGone);
    if (child === null) return;
    try {
      const isEmpty = yield* this.visit(child, key, '', depth);
      if (isEmpty && key > this.#options.after) yield { key, isPrefix: false };
    } finally {
      await child.close();
    }
  }
}

/** The first name of a directory that can matter. */
function firstName(base: string, start: string, after: string): string {
  if (!after.startsWith(base)) return start;
  const rest = after.slice(base.length);
  const slash = rest.indexOf('/');
  const first = slash < 0 ? rest : rest.slice(0, slash + 1);
  return first > start ? first : start;
}

/** Gone, replaced, or not to be read: nothing to list there. Whatever else fails must fail the listing: who mirrors it would delete the rest. */
export function orGone(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG'].includes(codeOf(error) ?? '')) return null;
  throw error;
}
