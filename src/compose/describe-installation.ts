import { readFileSync } from 'node:fs';
import type { InstallationFacts, SleepSupport } from '../domain/installation-facts.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';
import { installationProblems, readDiskOf } from './installation-problems.ts';

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
    /** What is wrong with the GPUs now; null while all answer. */
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
    problems: () => installationProblems({ gpuProblem, readDisk: () => readDiskOf(dataDir) }),
  };
}

async function describeSleep({ gpuSleep }: Runtime): Promise<SleepSupport> {
  if (gpuSleep === null) return 'NONE';
  return (await gpuSleep.checkpointHindrance()) === null ? 'CHECKPOINT' : 'COOPERATIVE';
}

function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
