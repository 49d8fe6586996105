import { monotonicClock } from '../../core/clock.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { gigabytes } from './disk-room.ts';

/** How far the fetch of a model is. */
export interface FetchProgress {
  totalBytes: number;
  /** Bytes that are there of each file, by digest. */
  sizes: Map<string, number>;
}

/** Returns the progress of a fetch of these files, each named once, before anything is there. */
export function beginProgress(files: readonly PinnedFile[]): FetchProgress {
  const sizes = new Map(files.map(({ digest }) => [digest as string, 0]));
  return { totalBytes: files.reduce((total, { size }) => total + size, 0), sizes };
}

const LINE_MS = 5_000;
const FIRST_LOOK_MS = 50;

/**
 * Says in a worker's log that a model is being fetched, and every few seconds how far it is and how long it still takes. Returns
 * the function that ends it: with a last line if there was a first one, and the model is there.
 */
export function reportProgress(
  name: string,
  read: () => FetchProgress | undefined,
  onLine: (line: string) => void,
): (isFetched: boolean) => void {
  const begunAt = monotonicClock.now();
  let last: { at: number; bytes: number } | undefined;
  let total = 0;
  const look = () => {
    const progress = read();
    if (!progress || progress.totalBytes === 0) return;
    const now = monotonicClock.now();
    const bytes = doneBytes(progress);
    total = progress.totalBytes;
    if (last === undefined) onLine(`fetching the model ${name}: ${gigabytes(total - bytes)} of ${gigabytes(total)}`);
    else if (now - last.at < LINE_MS) return;
    else
      onLine(`fetching the model ${name}: ${describe(bytes, total, ((bytes - last.bytes) * 1000) / (now - last.at))}`);
    last = { at: now, bytes };
  };
  const timer = setInterval(look, FIRST_LOOK_MS).unref();
  return (isFetched) => {
    clearInterval(timer);
    if (last === undefined || !isFetched) return; // a failed start says why itself
    onLine(`fetched the model ${name} in ${((monotonicClock.now() - begunAt) / 1000).toFixed(1)} s`);
  };
}

/** `1.2 GB of 14.0 GB, 210.0 MB/s, 61 s left`. */
export function describe(bytes: number, total: number, bytesPerSecond: number): string {
  const left = bytesPerSecond > 0 ? `, ${Math.ceil((total - bytes) / bytesPerSecond)} s left` : '';
  return `${gigabytes(bytes)} of ${gigabytes(total)}, ${gigabytes(Math.max(0, bytesPerSecond))}/s${left}`;
}

/** Returns the bytes that are there of the files. */
export function doneBytes({ sizes }: FetchProgress): number {
  let bytes = 0;
  for (const size of sizes.values()) bytes += size;
  return bytes;
}
