import { type Clock, monotonicClock, systemClock } from '../../core/clock.ts';
import { FairSlots } from '../../core/flow/fair-slots.ts';
import type { Folder } from '../../runtimes/directories/folder.ts';
import { HIDDEN_FOLDER } from '../../runtimes/directories/sweep-uploads.ts';
import { NameRuns } from './name-runs.ts';

/** Smaller directories are read again for each page. */
const MIN_NAMES = 5_000;
/** The most that is remembered of all directories; a larger one is remembered alone. */
const MAX_BYTES = 32 * 2 ** 20;
/** For so long the later pages of a listing may go on with the names as they were at its first. */
const CONTINUED_MS = 60_000;
/** A directory that changed so short a time before it was read may change again within the same tick of the file system's clock. */
const TICK_MS = 1_000;

interface Known {
  names: NameRuns;
  mtimeNs: bigint;
  isSettled: boolean;
  readAtMs: number;
}

/** Remembers the sorted names of large directories between the pages of a listing. */
export class NameCache {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  /** Directories are read a few at a time, one of each user. */
  readonly #slots = new FairSlots({ slots: 3, perOwner: 1 });
  #bytes = 0;

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock;
  }

  /** Returns the names in a directory. `isContinued`: for a later page of a listing. `isTop`: it is the top of a volume. */
  async read(folder: Folder, options: { owner: string; isContinued: boolean; isTop: boolean }): Promise<NameRuns> {
    const { dev, ino, mtimeNs } = await folder.handle.stat({ bigint: true });
    const id = `${dev}/${ino}`;
    return this.#recall(id, mtimeNs, options.isContinued) ?? (await this.#read(id, mtimeNs, folder, options));
  }

  #recall(id: string, mtimeNs: bigint, isContinued: boolean): NameRuns | undefined {
    const known = this.#known.get(id);
    if (!known) return undefined;
    const isSame = known.isSettled && known.mtimeNs === mtimeNs;
    const isFresh = isContinued && this.#clock.now() - known.readAtMs < CONTINUED_MS;
    if (!isSame && !isFresh) return undefined;
    this.#known.delete(id);
    this.#known.set(id, known); // the one used last goes last
    return known.names;
  }

  async #read(
    id: string,
    mtimeNs: bigint,
    folder: Folder,
    { owner, isTop }: { owner: string; isTop: boolean },
  ): Promise<NameRuns> {
    const isHidden = (name: string) => isTop && name === HIDDEN_FOLDER;
    const isSettled = systemClock.now() - Number(mtimeNs / 1_000_000n) > TICK_MS;
    const names = await this.#slots.run(owner, () => NameRuns.read(folder, isHidden));
    this.#forget(id);
    if (names.count < MIN_NAMES) return names;
    this.#known.set(id, { names, mtimeNs, isSettled, readAtMs: this.#clock.now() });
    this.#bytes += names.byteLength;
    for (const other of this.#known.keys()) {
      if (this.#bytes <= MAX_BYTES || other === id) break;
      this.#forget(other);
    }
    return names;
  }

  #forget(id: string): void {
    this.#bytes -= this.#known.get(id)?.names.byteLength ?? 0;
    this.#known.delete(id);
  }
}
