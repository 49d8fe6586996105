import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import type { Folder } from '../../../runtimes/directories/folder.ts';
import { byBytes, isText, LATIN1 } from './key-bytes.ts';

/**
 * The names of a directory in the order of their bytes, a directory's with a slash behind it. They are kept as sorted runs, each one
 * buffer, which are merged as they are read: a million names take about 25 MB, and no step holds the event loop for long. Names are
 * strings with a character for each byte, so that JavaScript compares them as S3 does. Names that are not UTF-8, links and special files
 * are left out.
 */
export class NameRuns {
  readonly count: number;
  readonly byteLength: number;
  /** All names are from `first` on and, unless it is null, before `end`: the directory has more. */
  readonly first: string;
  readonly end: string | null;
  readonly #runs: readonly Run[];

  private constructor(runs: readonly Run[], first: string, end: string | null) {
    this.#runs = runs;
    this.first = first;
    this.end = end;
    this.count = runs.reduce((sum, run) => sum + run.ends.length, 0);
    this.byteLength = bytesOf(runs);
  }

  /** Reads the names of a directory from `first` on, as many as take `maxBytes`. `isHidden` says which to leave out. */
  static async read(
    folder: Folder,
    isHidden: (name: string) => boolean,
    { first, maxBytes }: { first: string; maxBytes: number },
  ): Promise<NameRuns> {
    let runs: Run[] = [];
    let end: string | null = null;
    let names: string[] = [];
    await eachEntry(folder, (entry) => {
      const { name } = entry;
      if (!(entry.isFile() || entry.isDirectory()) || isHidden(name)) return;
      if (!isText(name)) return;
      const key = entry.isDirectory() ? `${name}/` : name;
      if (key < first || (end !== null && key >= end)) return;
      names.push(key);
      if (names.length < RUN_NAMES) return;
      runs.push(toRun(names));
      names = [];
      if (bytesOf(runs) <= maxBytes) return;
      end = middleOf(runs);
      runs = runs.map((run) => cut(run, end!)).filter((run) => run.ends.length > 0);
    });
    if (end !== null) names = names.filter((name) => name < end!);
    if (names.length > 0) runs.push(toRun(names));
    return new NameRuns(runs, first, end);
  }

  /** Yields the names from `first` on, in order. */
  *from(first: string): Generator<string> {
    const cursors = this.#runs.flatMap((run) => {
      const at = lowerBound(run, first);
      return at < run.ends.length ? [{ run, at, name: nameAt(run, at) }] : [];
    });
    cursors.sort((a, b) => (a.name < b.name ? -1 : 1)); // sorted, so that it is a heap
    while (cursors.length > 0) {
      const top = cursors[0]!;
      yield top.name;
      top.at += 1;
      if (top.at < top.run.ends.length) top.name = nameAt(top.run, top.at);
      else {
        const last = cursors.pop()!;
        if (cursors.length === 0) return;
        if (last !== top) cursors[0] = last;
      }
      sink(cursors);
    }
  }
}

interface Run {
  /** The names, one behind the other. */
  text: Buffer;
  /** Where each ends. */
  ends: Uint32Array;
}

interface Cursor {
  run: Run;
  at: number;
  name: string;
}

/** Sorted in a millisecond. With four times as many, most grow old before they are joined: 500,000 names took 42 MB instead of 24. */
const RUN_NAMES = 2_048;
/** Entries that are read in one call of the system's thread. */
const BATCH = 512;

/**
 * Calls `use` for each entry of a directory. `readSync` takes what the last call has read, so that an entry makes no promise: a million of
 * them took 13 MB more, and half as much CPU again. Only at the end, which a batch that is not full has reached, does it ask the system.
 */
async function eachEntry(folder: Folder, use: (entry: Dirent) => void): Promise<void> {
  const directory = await opendir(folder.path, { encoding: LATIN1, bufferSize: BATCH });
  try {
    for (let count = BATCH; count === BATCH; ) {
      count = 0;
      for (let entry = await directory.read(); entry !== null; entry = count < BATCH ? directory.readSync() : null) {
        use(entry);
        count += 1;
      }
    }
  } finally {
    await directory.close();
  }
}

function toRun(names: string[]): Run {
  names.sort(byBytes);
  const ends = new Uint32Array(names.length);
  let end = 0;
  for (let i = 0; i < names.length; i++) {
    end += names[i]!.length;
    ends[i] = end;
  }
  return { text: Buffer.from(names.join(''), 'latin1'), ends };
}

function bytesOf(runs: readonly Run[]): number {
  return runs.reduce((sum, run) => sum + run.text.length + run.ends.byteLength, 0);
}

/** Returns a name with about as many before it as behind it. */
function middleOf(runs: readonly Run[]): string {
  return runs.map((run) => nameAt(run, run.ends.length >> 1)).sort(byBytes)[runs.length >> 1]!;
}

/** Returns a copy of the names before `end`. */
function cut(run: Run, end: string): Run {
  const count = lowerBound(run, end);
  return { text: Buffer.from(run.text.subarray(0, run.ends[count - 1] ?? 0)), ends: run.ends.slice(0, count) };
}

function nameAt({ text, ends }: Run, at: number): string {
  return text.toString('latin1', at === 0 ? 0 : ends[at - 1], ends[at]);
}

function lowerBound(run: Run, first: string): number {
  let [low, high] = [0, run.ends.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (nameAt(run, middle) < first) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Restores the heap after its top has changed. */
function sink(heap: Cursor[]): void {
  for (let at = 0; ; ) {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && heap[child]!.name < heap[least]!.name) least = child;
    }
    if (least === at) return;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
}
