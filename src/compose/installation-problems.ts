import { statfs } from 'node:fs/promises';

/** Below both of these, the disk counts as nearly full. */
const LOW_SHARE = 0.1;
const LOW_BYTES = 10 * 2 ** 30;

export interface Disk {
  freeBytes: number;
  totalBytes: number;
}

interface ProblemSources {
  /** What is wrong with the GPUs, without a period; null while all answer. */
  gpuProblem: () => string | null;
  /** Rejects if the disk cannot be read. */
  readDisk: () => Promise<Disk>;
}

/** Returns what is out of order on this machine now, one sentence each without a period. */
export async function installationProblems({ gpuProblem, readDisk }: ProblemSources): Promise<string[]> {
  const disk = await readDisk().then(diskProblem, () => null); // the doctor looks into why
  const gpus = gpuProblem();
  return [...(gpus === null ? [] : [`GPUs are out of order: ${gpus}`]), ...(disk === null ? [] : [disk])];
}

/** Returns a sentence if a disk is nearly full: by share, unless it is so large that a tenth is plenty. */
export function diskProblem({ freeBytes, totalBytes }: Disk): string | null {
  if (freeBytes >= LOW_BYTES || freeBytes >= totalBytes * LOW_SHARE) return null;
  return `The disk of the data directory has ${gib(freeBytes)} of ${gib(totalBytes)} left`;
}

export async function readDiskOf(directory: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
