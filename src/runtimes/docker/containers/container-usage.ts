import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../../engine/engine.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import type { DiskMeter, WorkloadStats } from '../../runtime.ts';
import type { Containers } from './containers.ts';

/** Between two samples: short enough to wait for, long enough for the clock ticks that the counters have. */
const PAUSE_MS = 250;

/** The members used of `GET /containers/{id}/stats`. */
interface ContainerStats {
  cpu_stats: { cpu_usage?: { total_usage: number }; online_cpus?: number };
  memory_stats?: { usage?: number; limit?: number; stats?: Record<string, number> };
}

/** Returns a container's memory in bytes, as the engine counts it: after up to a second. */
export async function readMemory(engine: Engine, container: string): Promise<number> {
  const { memory_stats: memory } = await sample(engine, container);
  return memory?.usage === undefined ? 0 : withoutCache(memory.usage, memory.stats);
}

/** Samples a container's counters twice. `cpus`: what it may use; 0 for all. Returns null when it ended in between. */
export async function readUsage(
  engine: Engine,
  container: string,
  cpus: number,
): Promise<Pick<WorkloadStats, 'cpuUtil' | 'memoryUtil'> | null> {
  const first = await sample(engine, container);
  await sleep(PAUSE_MS);
  const second = await sample(engine, container);
  const usedNs = (second.cpu_stats.cpu_usage?.total_usage ?? 0) - (first.cpu_stats.cpu_usage?.total_usage ?? 0);
  const { usage, limit, stats } = second.memory_stats ?? {};
  if (usage === undefined || usedNs < 0) return null;
  const allowedNs = (second.at - first.at) * 1e6 * (cpus || second.cpu_stats.online_cpus || 1);
  return { cpuUtil: percent(usedNs, allowedNs), memoryUtil: percent(withoutCache(usage, stats), limit ?? 0) };
}

async function sample(engine: Engine, container: string): Promise<ContainerStats & { at: number }> {
  const query = { stream: false, 'one-shot': true }; // without one-shot the engine samples twice, a second apart
  const path = `/containers/${container}/stats`;
  const at = performance.now();
  return { at, ...(await engine.json<ContainerStats>({ method: 'GET', path, query })) };
}

/** Like `docker stats`: without the file cache, which the kernel reclaims as needed (named differently in cgroup v1 and v2). */
function withoutCache(usage: number, stats: Record<string, number> | undefined): number {
  return Math.max(0, usage - (stats?.total_inactive_file ?? stats?.inactive_file ?? 0));
}

function percent(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, Math.max(0, Math.round((part / whole) * 1000) / 10)) : 0;
}

/** Measures what containers have written to their own layer, for those whose size the engine does not limit. */
export function containerDisks(containers: Containers): DiskMeter {
  return {
    async usedBytes(id) {
      const container = containers.nameOf(id);
      // This request is cheap. For the size, the engine reads every directory entry of the layer.
      const details = await orAbsent(containers.inspect(container));
      if (!details || details.HostConfig.StorageOpt?.size !== undefined) return null;
      return (await orAbsent(containers.sizeOf(container))) ?? null;
    },
  };
}
