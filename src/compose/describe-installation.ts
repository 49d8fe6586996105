import { readVersion } from '../core/files/own-package.ts';
import { type Disk, readDisk } from '../core/files/read-disk.ts';
import type { InstallationFacts, SleepSupport } from '../domain/installation-facts.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';

const PARKED =
  'Frozen workers are parked here: they get no work and as little CPU as possible, but keep running and keep their memory';
const NO_FREEZE = 'Workers cannot be frozen here: FlashBoot has no effect';

/** Adds to the runtime's `notices` how it freezes workers, unless it freezes them fully. */
export function describeInstallation(
  id: string,
  runtime: Runtime,
  parts: {
    notices: readonly string[];
    allowInsecureProcesses: boolean;
    dataDir: string;
    /** The current problem of the GPUs; null while all answer. */
    gpuProblem: () => string | null;
  },
): InstallationFacts {
  const { notices, allowInsecureProcesses, dataDir, gpuProblem } = parts;
  const { freeze, isolation } = runtime.capabilities;
  const onFreeze = freeze === 'parked' ? [PARKED] : freeze === null ? [NO_FREEZE] : [];
  return {
    id,
    version: readVersion(),
    runtime: runtime.name,
    isIsolated: isolation,
    areGpusSimulated: runtime instanceof ShortageRuntime,
    takesSeveralUsers: runtime.name !== 'process' || allowInsecureProcesses,
    freeze,
    sleep: () => describeSleep(runtime),
    notices: [...notices, ...onFreeze],
    problems: () => installationProblems({ gpuProblem, readDisk: () => readDisk(dataDir) }),
  };
}

async function describeSleep({ gpuSleep }: Runtime): Promise<SleepSupport> {
  if (gpuSleep === null) return 'NONE';
  return (await gpuSleep.checkpointHindrance()) === null ? 'CHECKPOINT' : 'COOPERATIVE';
}

/** Below both of these, the disk counts as nearly full. */
const LOW_SHARE = 0.1;
const LOW_BYTES = 10 * 2 ** 30;
/** A program that makes empty files can use up a disk's inodes, which ends the database as well. */
const LOW_FILES = 50_000;

interface ProblemSources {
  /** The problem of the GPUs, without a period; null while all answer. */
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

/** Returns a sentence if a disk is nearly full: by share, unless it is so large that a tenth is plenty, or by its files. */
export function diskProblem({ freeBytes, totalBytes, freeFiles }: Disk): string | null {
  const isLow = freeBytes < LOW_BYTES && freeBytes < totalBytes * LOW_SHARE;
  if (!isLow && freeFiles < LOW_FILES) return `On the disk of the data directory, ${freeFiles} more files can be made`;
  if (!isLow) return null;
  return `The disk of the data directory has ${gib(freeBytes)} of ${gib(totalBytes)} left`;
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
