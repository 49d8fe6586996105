import type { EndpointId } from '../../core/ids.ts';

/** The disk of the images; null where it is not known, or its machine looks after it. */
export type ImageDisk = { totalBytes: number; freeBytes: number } | null;

/** `inMs`: when to look again. */
export type PullStep =
  | { pull: EndpointId }
  | { wait: 'workers pull' | 'the disk is nearly full'; inMs: number }
  | 'done';

const WORKERS_MS = 5_000;
const DISK_MS = 600_000;
/** The share that stays free for images that a start needs at once: a tenth of the disk, at most 50 GB. */
const MARGIN_SHARE = 0.1;
const MAX_MARGIN_BYTES = 50e9;

/**
 * Decides which image is pulled ahead next, one at a time. Pulls that workers wait for come first, and so does their disk. `queue`: endpoints
 * whose image has not been looked after yet, the most urgent first. Pure.
 */
export function decidePull(queue: Iterable<EndpointId>, facts: { doWorkersPull: boolean; disk: ImageDisk }): PullStep {
  const [next] = queue;
  if (next === undefined) return 'done';
  if (facts.doWorkersPull) return { wait: 'workers pull', inMs: WORKERS_MS };
  const { disk } = facts;
  const isFull = disk !== null && disk.freeBytes < Math.min(MAX_MARGIN_BYTES, MARGIN_SHARE * disk.totalBytes);
  return isFull ? { wait: 'the disk is nearly full', inMs: DISK_MS } : { pull: next };
}
