import { type LogSegment, SEGMENT_NUMBERS } from './log-segments.ts';

export interface LogLimits {
  retentionMs: number;
  /** On disk, with indexes. */
  maxBytes: number;
}

export interface SegmentsNow {
  /** The oldest first; at least one. */
  segments: readonly (Pick<LogSegment, 'firstSeq' | 'endSeq' | 'begunAt'> & { bytes: number })[];
  /** The number of the last stored line. */
  lastSeq: number;
  nowMs: number;
  /** Free space of the disk that the lines are on; null: unknown. */
  freeBytes: number | null;
}

/** A segment is this part of what may be kept, by time and by size: what is dropped at once is little of it. */
const PARTS = 16;
/** The share of the limit that may be stored between two readings of the sizes. */
const HEADROOM = 1 / 32;
/** Even on a full disk: a segment's files are not smaller than some pages. */
const MIN_BYTES = 16 * 2 ** 20;

/** How many bytes may be stored until the sizes are due to be read again. */
export function bytesUntilNextLook(maxBytes: number): number {
  return (maxBytes * HEADROOM) / 2;
}

/**
 * Returns which segments to drop, and whether to begin another one. The newest is never dropped. Logs give way on a disk that
 * fills up: they take no more than half of what there would be without them.
 */
export function decideSegments(
  { segments, lastSeq, nowMs, freeBytes }: SegmentsNow,
  { retentionMs, maxBytes }: LogLimits,
): { drop: number[]; begins: boolean } {
  let total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const share = freeBytes === null ? maxBytes : Math.max(MIN_BYTES, (total + freeBytes) / 2);
  const allowed = Math.min(maxBytes, share);
  const newest = segments.at(-1)!;
  const isLarge = newest.bytes > allowed / PARTS;
  const isOld = nowMs - newest.begunAt.getTime() > retentionMs / PARTS;
  const isNearlyFull = lastSeq >= newest.endSeq - SEGMENT_NUMBERS / 2;
  const begins = lastSeq >= newest.firstSeq && (isLarge || isOld || isNearlyFull);
  // Once another one begins, this one may go as well.
  const endedAt = segments.slice(1).map(({ begunAt }) => begunAt.getTime());
  if (begins) endedAt.push(nowMs);
  const drop: number[] = [];
  for (const [index, endMs] of endedAt.entries()) {
    const { firstSeq, bytes } = segments[index]!;
    if (endMs >= nowMs - retentionMs && total <= allowed * (1 - HEADROOM)) break;
    drop.push(firstSeq);
    total -= bytes;
  }
  return { drop, begins };
}
