import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An answer of the hub, and when it gave it, in ms since 1970. */
export interface KeptAnswer<T> {
  value: T;
  atMs: number;
}

/** The hub's last answers, a file each, for when it is unreachable. Keys include the reader, so that no user gets another's. */
export class HubAnswers {
  readonly #folder: string;
  readonly #onStored: (bytes: number) => void;
  #made: Promise<unknown> | undefined;

  constructor(root: string, onStored: (bytes: number) => void) {
    this.#folder = join(root, 'answers');
    this.#onStored = onStored;
  }

  /** Returns null for what was never answered, or left to make room. */
  async find<T>(key: readonly string[]): Promise<KeptAnswer<T> | null> {
    try {
      const kept = JSON.parse(await readFile(this.#pathOf(key), 'utf8')) as KeptAnswer<T>;
      return Number.isFinite(kept.atMs) && kept.value !== undefined ? kept : null;
    } catch {
      return null;
    }
  }

  async keep<T>(key: readonly string[], answer: KeptAnswer<T>): Promise<void> {
    this.#made ??= mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#made;
    const text = JSON.stringify(answer);
    const path = this.#pathOf(key);
    const own = `${path}.${randomUUID()}`;
    await writeFile(own, text, { mode: 0o600 });
    await rename(own, path);
    this.#onStored(text.length);
  }

  #pathOf(key: readonly string[]): string {
    return join(this.#folder, `${createHash('sha256').update(JSON.stringify(key)).digest('hex')}.json`);
  }
}
