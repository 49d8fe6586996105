import type { Schemas } from '../../api/client.ts';
import type { WorkerSummary } from '../../api/live-snapshots.ts';

type Installation = Schemas['Installation'];

const RUNTIMES: Record<Installation['runtime'], string> = {
  docker: 'Docker containers',
  kubernetes: 'Kubernetes pods',
  process: 'Local processes',
  simulated: 'Simulated: nothing runs',
};
const FROZEN: Record<Installation['freeze'], string> = {
  STOPPED: 'Stopped, memory kept',
  PARKED: 'Parked with minimal CPU',
  NONE: 'Not supported',
};

const SLEEPING: Record<Installation['sleep'], string> = {
  CHECKPOINT: 'Shared while workers sleep, by checkpoint too',
  COOPERATIVE: 'Shared while workers with sleep handlers or URLs sleep',
  NONE: 'Kept by frozen workers',
};

/** Describes an installation as labels and values. */
export function installationFacts(installation: Installation): { label: string; value: string }[] {
  const { runtime, isolation, gpus, freeze, sleep, version, id } = installation;
  return [
    { label: 'Runtime', value: RUNTIMES[runtime] },
    { label: 'Isolation', value: isolation ? 'Isolated workers' : 'None' },
    { label: 'GPUs', value: gpus === 'REAL' ? 'Physical' : 'Simulated: workers run on the CPU' },
    { label: 'Frozen workers', value: FROZEN[freeze] },
    { label: 'Idle GPUs', value: SLEEPING[sleep] },
    { label: 'Version', value: version },
    { label: 'Installation ID', value: id },
  ];
}

/** Returns a notice as a sentence. */
export function noticeText(notice: string): string {
  return /[.!?]$/.test(notice) ? notice : `${notice}.`;
}

/** Describes an endpoint's workers in a few words: `3 (1 throttled)`. */
export function describeWorkers({ total, throttled, unhealthy }: WorkerSummary): string {
  const problems = [
    ...(throttled > 0 ? [`${throttled} throttled`] : []),
    ...(unhealthy > 0 ? [`${unhealthy} unhealthy`] : []),
  ];
  return problems.length === 0 ? String(total) : `${total} (${problems.join(', ')})`;
}
