import { mkdir } from 'node:fs/promises';
import { type DiskSpace, readDisk } from '../../core/files/read-disk.ts';
import { Semaphore } from '../../core/flow/semaphore.ts';
import type { UserId } from '../../core/ids.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { Bandwidth } from '../fetch/bandwidth.ts';
import type { FileOrigin } from '../fetch/fetch-file.ts';
import { comingBytesIn } from '../store/beginnings.ts';
import { missingBytes } from '../store/disk-room.ts';
import type { HubContent } from './hub-content.ts';
import { HubDownload } from './hub-download.ts';
import { type HubEntry, HubFolder } from './hub-folder.ts';

export interface HubContentsOptions {
  /** Belongs to one installation. */
  root: string;
  /** Where the models of releases are, on the same disk: what is there is not fetched again, and what comes there takes room too. */
  storeRoot: string;
  budgetBytes: number;
  bytesPerSecond: number | null;
  counters?: { fetchedBytes: (bytes: number) => void; evicted: () => void };
  /** How long a fetch without a waiting client continues. */
  lingerMs?: number;
  retryMs?: number;
  maxAnswers?: number;
  readDisk?: (path: string) => Promise<DiskSpace>;
}

const LINGER_MS = 10_000;
const RETRY_MS = 500;
/** A reader waits for a fetch to come as far as this; clients give up after 10 s without a byte. */
const AHEAD_BYTES = 2 ** 30;
/** Room is made after this many bytes of answers. */
const CHECK_BYTES = 2 ** 24;
/** Small files, which a disk has only so many of. */
const MAX_ANSWERS = 50_000;

/**
 * Contents that pass through the hub, by digest, within a budget. Each is fetched once for all its readers, and read while it arrives. The
 * least recently used are evicted first; users above an equal share lose theirs before others.
 */
export class HubContents {
  readonly #options: HubContentsOptions;
  readonly #folder: HubFolder;
  readonly #bandwidth: Bandwidth;
  readonly #downloads = new Map<string, Promise<HubDownload | null>>();
  readonly #running = new Set<HubDownload>();
  /** One at a time decides what leaves. */
  readonly #lock = new Semaphore(1);
  #opened: Promise<void> | undefined;
  #unchecked = 0;

  constructor(options: HubContentsOptions) {
    this.#options = options;
    this.#folder = new HubFolder(options.root, options.storeRoot);
    this.#bandwidth = new Bandwidth(options.bytesPerSecond);
  }

  /** True when nothing has to be fetched for it. */
  async has(file: PinnedFile): Promise<boolean> {
    await this.#open();
    return this.#folder.isStored(file);
  }

  /**
   * Returns the content, and fetches it from `origin` unless it is here or on its way; null: there is no room to keep it, or the byte `from`, where
   * the reader begins, would come too late.
   */
  async open(
    file: PinnedFile,
    origin: FileOrigin,
    { from, userId }: { from: number; userId: UserId },
  ): Promise<HubContent | null> {
    await this.#open();
    const stored = await this.#folder.openStored(file, userId);
    if (stored) return stored;
    for (;;) {
      const running = this.#downloads.get(file.digest);
      if (!running && from > this.#folder.begunBytes(file) + AHEAD_BYTES) return null;
      const download = await (running ?? this.#begin(file, origin, userId));
      if (download === null || from > download.size + AHEAD_BYTES) return null;
      if (!download.isStopping) return download.follow(userId);
      await download.ended;
    }
  }

  /** Says that something small was stored beside the contents: it counts for the budget. */
  async noteStored(bytes: number): Promise<void> {
    this.#unchecked += bytes;
    if (this.#unchecked < CHECK_BYTES) return;
    this.#unchecked = 0;
    await this.#lock.run(() => this.#makeRoom(null));
  }

  /** Ends all fetches; what has come of them stays for later ones. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((download) => download.stop()));
  }

  #open(): Promise<void> {
    this.#opened ??= mkdir(this.#options.root, { recursive: true, mode: 0o700 })
      .then(() => this.#folder.open())
      .catch((error) => {
        this.#opened = undefined;
        throw error;
      });
    return this.#opened;
  }

  #begin(file: PinnedFile, origin: FileOrigin, userId: UserId): Promise<HubDownload | null> {
    const beginning = this.#start(file, origin, userId);
    this.#downloads.set(file.digest, beginning);
    const forget = () => {
      if (this.#downloads.get(file.digest) === beginning) this.#downloads.delete(file.digest);
    };
    beginning.then((download) => (download === null ? forget() : download.ended.then(forget)), forget);
    return beginning;
  }

  async #start(file: PinnedFile, origin: FileOrigin, userId: UserId): Promise<HubDownload | null> {
    const { counters, lingerMs = LINGER_MS, retryMs = RETRY_MS } = this.#options;
    const { beginnings } = this.#folder;
    const release = await this.#lock.acquire();
    let isBegun = false;
    try {
      await beginnings.takeOver(file);
      await beginnings.noteComing(file); // before the look at the room: of two processes, the one that looks last sees both
      if (!(await this.#makeRoom(file, userId))) return null;
      await this.#folder.claim(file, userId);
      const download = new HubDownload(file, origin, {
        ...{ folder: this.#folder, bandwidth: this.#bandwidth, lingerMs, retryMs },
        onReceived: (bytes) => counters?.fetchedBytes(bytes),
      });
      this.#running.add(download);
      void download.ended.then(() => this.#running.delete(download));
      isBegun = true;
      return download;
    } finally {
      if (!isBegun) await beginnings.noteEnd(file);
      release();
    }
  }

  /** Has others leave until what is here and coming fits, the file too; false, and none left, if that is not enough. */
  async #makeRoom(file: PinnedFile | null, userId: UserId | null = null): Promise<boolean> {
    const entries = await this.#folder.list();
    const sizeOf = (list: readonly HubEntry[]) => list.reduce((sum, { bytes }) => sum + bytes, 0);
    const comingBytes = entries.reduce((sum, entry) => sum + entry.comingBytes, 0);
    const wanted = entries.find(({ digest, isOwn }) => isOwn && digest === file?.digest)?.comingBytes ?? 0;
    const disk = await (this.#options.readDisk ?? readDisk)(this.#options.root);
    const elsewhereBytes = await comingBytesIn(this.#options.storeRoot);
    const state = { ...disk, usedBytes: sizeOf(entries), comingBytes, elsewhereBytes };
    let missing = missingBytes({ budgetBytes: this.#options.budgetBytes }, state);
    const busy = new Set([file?.digest, ...[...this.#running].map(({ digest }) => digest)]);
    const mayLeave = entries.filter(
      ({ digest, isOthers, comingBytes }) => !isOthers && comingBytes === 0 && (digest === null || !busy.has(digest)),
    );
    if (missing > sizeOf(mayLeave)) return false;
    const answers = entries.filter(({ kind }) => kind === 'answer');
    const tooMany = answers.length - (this.#options.maxAnswers ?? MAX_ANSWERS);
    const mustLeave = new Set(answers.slice(0, Math.max(0, tooMany)));
    const leave = async (entry: HubEntry) => {
      await this.#folder.remove(entry);
      this.#options.counters?.evicted();
      missing -= entry.bytes;
    };
    for (const entry of mustLeave) await leave(entry);
    const rest = mayLeave.filter((entry) => !mustLeave.has(entry));
    const shares = new Shares(this.#options.budgetBytes, rest, { owner: userId, bytes: wanted });
    while (missing > 0 && rest.length > 0) {
      const entry = shares.next(rest);
      rest.splice(rest.indexOf(entry), 1);
      await leave(entry);
    }
    return true;
  }
}

/** The bytes of each user: files of users above an equal share of the budget are evicted before others'. */
class Shares {
  readonly #bytes = new Map<string, number>();
  readonly #shareBytes: number;

  constructor(budgetBytes: number, entries: readonly HubEntry[], coming: { owner: string | null; bytes: number }) {
    for (const { owner, bytes } of [...entries, coming])
      if (owner !== null) this.#bytes.set(owner, (this.#bytes.get(owner) ?? 0) + bytes);
    this.#shareBytes = budgetBytes / Math.max(1, this.#bytes.size);
  }

  /** Returns the one that leaves next of entries in the order of their last use. */
  next(entries: readonly HubEntry[]): HubEntry {
    const isOver = ({ owner }: HubEntry) => owner !== null && this.#bytes.get(owner)! > this.#shareBytes;
    const entry = entries.find(isOver) ?? entries[0]!;
    if (entry.owner !== null) this.#bytes.set(entry.owner, this.#bytes.get(entry.owner)! - entry.bytes);
    return entry;
  }
}
