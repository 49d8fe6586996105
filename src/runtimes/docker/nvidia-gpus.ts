import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { poolOf } from '../../domain/catalog/part-types.ts';
import type { WorkloadStats } from '../runtime.ts';

/** Real GPUs stay idle while workers believe that they have one. */
export const SIMULATED_BESIDE_REAL =
  'WARNING: this machine has GPUs, but --simulate-gpus simulates others: no worker uses a real one. Set it to off';

/** A GPU of this machine. */
export interface Gpu {
  uuid: string;
  gpuTypeId: string;
  pool: string;
}

const QUERY = ['--query-gpu=uuid,name', '--format=csv,noheader'];
const USAGE_QUERY = ['--query-gpu=uuid,utilization.gpu,memory.used,memory.total', '--format=csv,noheader,nounits'];

/** Returns the GPUs `nvidia-smi` lists; none when it is missing or fails. */
export async function listNvidiaGpus(): Promise<Gpu[]> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', QUERY, { timeout: 10_000 });
    return parseNvidiaSmi(stdout);
  } catch {
    return [];
  }
}

/** Parses lines of `GPU-<uuid>, <name>`. */
export function parseNvidiaSmi(text: string): Gpu[] {
  return [...text.matchAll(/^(GPU-[^,\s]+), (.+)$/gm)].map(([, uuid, name]) => ({
    uuid: uuid!,
    gpuTypeId: name!.trim(),
    pool: poolOf(name!.trim()),
  }));
}

/** Returns the current usage of the given GPUs; zeros for those `nvidia-smi` does not report. */
export async function readGpuUsage(uuids: readonly string[]): Promise<WorkloadStats['gpus']> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', USAGE_QUERY, { timeout: 10_000 });
    return parseGpuUsage(stdout, uuids);
  } catch {
    return parseGpuUsage('', uuids);
  }
}

/** Parses lines of `GPU-<uuid>, <percent>, <MiB used>, <MiB total>`; a figure may be `[N/A]`. */
export function parseGpuUsage(text: string, uuids: readonly string[]): WorkloadStats['gpus'] {
  const lines = new Map(text.split('\n').map((line) => [line.split(', ')[0]!, line.split(', ').slice(1).map(Number)]));
  return uuids.map((uuid) => {
    const [util, used, total] = lines.get(uuid) ?? [];
    return { util: util || 0, memoryUtil: total ? Math.round(((used || 0) / total) * 1000) / 10 : 0 };
  });
}
