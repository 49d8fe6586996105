import type { BigIntStats } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { type Clock, monotonicClock, systemClock } from '../../../core/clock.ts';
import { FairSlots } from '../../../core/flow/fair-slots.ts';
import type { Folder } from '../../../runtimes/directories/folder.ts';
import { HIDDEN_FOLDER } from '../../../runtimes/directories/sweep-uploads.ts';
import { NameRuns } from './name-runs.ts';

/** Smaller directories are read again for each page. */
const MIN_NAMES = 5_000;
/** The most that is remembered of all directories; a larger one is remembered alone. */
const MAX_BYTES = 32 * 2 ** 20;
/** The most that is read of one directory, two million short names; of one in it half of that, and so on. */
const MAX_READ_BYTES = 48 * 2 ** 20;
/** Two thousand names at most, 340 on ext4. */
const SMALL_DIRECTORY_BYTES = 4_096n;
/** ext4, XFS, Btrfs and tmpfs: a directory's size there grows with its names. Others say the same of all directories, or count them otherwise. */
const SIZED_BY_NAMES = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994]);
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

interface ReadNames {
  owner: string;
  /** For a later page of a listing. */
  isContinued: boolean;
  /** It is the top of a volume. */
  isTop: boolean;
  /** How many directories above it are being read. */
  depth: number;
}

function has({ first, end }: NameRuns, name: string): boolean {
  return first <= name && (end === null || name < end);
}

/** Remembers the sorted names of large directories between the pages of a listing. */
export class NameCache {
  readonly #clock: Clock;
  readonly #maxReadBytes: number;
  readonly #known = new Map<string, Known>();
  /** Directories are read a few at a time, one of each user. */
  readonly #slots = new FairSlots({ slots: 3, perOwner: 1 });
  /** Each listing holds the names of its directories. */
  readonly #listings = new FairSlots({ slots: 4, perOwner: 2, alone: 4 });
  #bytes = 0;
  /** Whether the size of a directory bounds its names, by device. */
  readonly #isBounded = new Map<bigint, Promise<boolean>>();

  constructor(clock: Clock = monotonicClock, maxReadBytes = MAX_READ_BYTES) {
    this.#clock = clock;
    this.#maxReadBytes = maxReadBytes;
  }

  /** Does the work of a listing, in turn with others. */
  inTurn<T>(owner: string, work: () => Promise<T>): Promise<T> {
    return this.#listings.run(owner, work);
  }

  /** Returns names of a directory: those from `first` on, or as many of them as may be read at once. */
  async read(folder: Folder, first: string, options: ReadNames): Promise<NameRuns> {
    const { dev, ino, mtimeNs } = await folder.handle.stat({ bigint: true });
    const id = `${dev}/${ino}`;
    const known = this.#recall(id, mtimeNs, first, options.isContinued);
    if (known) return known;
    const before = this.#known.get(id)?.names;
    const isPartial = before !== undefined && (before.first !== '' || before.end !== null);
    const names = await this.#read(id, mtimeNs, folder, isPartial ? first : '', options);
    return has(names, first) ? names : this.#read(id, mtimeNs, folder, first, options);
  }

  /** True for a directory that has no more than a few hundred names, which may be read at once. */
  async isSmall(folder: Folder, { dev, size }: BigIntStats): Promise<boolean> {
    if (size > SMALL_DIRECTORY_BYTES) return false;
    let isBounded = this.#isBounded.get(dev);
    if (!isBounded) {
      isBounded = statfs(folder.path).then(({ type }) => SIZED_BY_NAMES.has(type));
      isBounded.catch(() => this.#isBounded.delete(dev));
      this.#isBounded.set(dev, isBounded);
    }
    return isBounded;
  }

  #recall(id: string, mtimeNs: bigint, first: string, isContinued: boolean): NameRuns | undefined {
    const known = this.#known.get(id);
    if (!known || !has(known.names, first)) return undefined;
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
    first: string,
    { owner, isTop, depth }: ReadNames,
  ): Promise<NameRuns> {
    const isHidden = (name: string) => isTop && name === HIDDEN_FOLDER;
    const isSettled = systemClock.now() - Number(mtimeNs / 1_000_000n) > TICK_MS;
    const part = { first, maxBytes: this.#maxReadBytes / 2 ** depth };
    const names = await this.#slots.run(owner, () => NameRuns.read(folder, isHidden, part));
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
