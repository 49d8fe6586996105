import { type Clock, monotonicClock } from '../../core/clock.ts';
import type { Folder } from '../../runtimes/directories/folder.ts';

/** After so long a folder is opened anew: one that a pod has replaced is not used for longer. */
const MAX_AGE_MS = 1_000;

interface Shared {
  folder: Promise<Folder>;
  users: number;
  openedAtMs: number;
}

/** Folders that requests use at the same time, opened by the first of them and closed after the last: a third of the calls of a small put. */
export class SharedFolders {
  readonly #clock: Clock;
  readonly #shared = new Map<string, Shared>();

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock;
  }

  /** Calls `use` with the folder of this name, which `open` opens unless it is open. */
  async use<T>(name: string, open: () => Promise<Folder>, use: (folder: Folder) => Promise<T>): Promise<T> {
    const shared = this.#find(name) ?? { folder: open(), users: 0, openedAtMs: this.#clock.now() };
    this.#shared.set(name, shared);
    shared.users += 1;
    try {
      return await use(await shared.folder);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) await this.#close(name, shared);
    }
  }

  #find(name: string): Shared | undefined {
    const shared = this.#shared.get(name);
    return shared && this.#clock.now() - shared.openedAtMs < MAX_AGE_MS ? shared : undefined;
  }

  async #close(name: string, shared: Shared): Promise<void> {
    if (this.#shared.get(name) === shared) this.#shared.delete(name);
    const folder = await shared.folder.catch(() => null); // thrown to those who use it
    await folder?.close();
  }
}
