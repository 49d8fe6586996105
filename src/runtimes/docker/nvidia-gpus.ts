import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { poolOf } from '../gpu-pools.ts';
import type { WorkloadStats } from '../runtime.ts';

/** A GPU of this machine. */
export interface Gpu {
  uuid: string;
  gpuTypeId: string;
  pool: string;
}

const QUERY = ['--query-gpu=uuid,name', '--format=csv,noheader'];
const USAGE_QUERY = ['--query-gpu=uuid,utilization.gpu,memory.used,memory.total', '--format=csv,noheader,nounits'];

/** The GPUs that `nvidia-smi` lists; none where it is missing or fails. */
export async function listNvidiaGpus(): Promise<Gpu[]> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', QUERY, { timeout: 10_000 });
    return parseNvidiaSmi(stdout);
  } catch {
    return [];
  }
}

/** Reads lines of `GPU-<uuid>, <name>`. */
export function parseNvidiaSmi(text: string): Gpu[] {
  return [...text.matchAll(/^(GPU-[^,\s]+), (.+?)\s*$/gm)].map(([, uuid, name]) => ({
    uuid: uuid!,
    gpuTypeId: name!,
    pool: poolOf(name!),
  }));
}

/** What the given GPUs do at this moment; zeros for one that `nvidia-smi` does not tell about. */
export async function readGpuUsage(uuids: readonly string[]): Promise<WorkloadStats['gpus']> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', USAGE_QUERY, { timeout: 10_000 });
    return parseGpuUsage(stdout, uuids);
  } catch {
    return parseGpuUsage('', uuids);
  }
}

/** Reads lines of `GPU-<uuid>, <percent>, <MiB used>, <MiB in all>`; a figure may be `[N/A]`. */
export function parseGpuUsage(text: string, uuids: readonly string[]): WorkloadStats['gpus'] {
  const lines = new Map(text.split('\n').map((line) => [line.split(', ')[0]!, line.split(', ').slice(1).map(Number)]));
  return uuids.map((uuid) => {
    const [util, used, total] = lines.get(uuid) ?? [];
    return { util: util || 0, memoryUtil: total ? Math.round(((used || 0) / total) * 1000) / 10 : 0 };
  });
}
