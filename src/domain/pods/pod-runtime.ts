import type { Pod } from './pod.ts';
import type { PodUsage } from './pod-figures.ts';

/** The live figures of a running pod. Zero until measured. */
export interface PodRuntime {
  uptimeSeconds: number;
  cpuUtil: number;
  memoryUtil: number;
  gpus: { util: number; memoryUtil: number }[];
}

export function podRuntime(pod: Pod, usage: PodUsage | undefined, nowMs: number): PodRuntime {
  const unmeasured = Array.from({ length: pod.gpu?.count ?? 0 }, () => ({ util: 0, memoryUtil: 0 }));
  return {
    uptimeSeconds: podUptimeSeconds(pod, nowMs),
    cpuUtil: usage?.cpuUtil ?? 0,
    memoryUtil: usage?.memoryUtil ?? 0,
    gpus: usage && usage.gpus.length > 0 ? [...usage.gpus] : unmeasured,
  };
}

/** Seconds since the pod's container started; 0 unless it runs. */
export function podUptimeSeconds({ status, startedAt }: Pod, nowMs: number): number {
  return status === 'RUNNING' && startedAt ? Math.max(0, Math.floor((nowMs - startedAt.getTime()) / 1000)) : 0;
}
