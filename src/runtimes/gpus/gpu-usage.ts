import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { WorkloadStats } from '../runtime.ts';

const QUERY = ['--query-gpu=uuid,utilization.gpu,memory.used,memory.total', '--format=csv,noheader,nounits'];
const TIMEOUT_MS = 10_000;

/** Returns the current usage of the given GPUs; zeros for those `nvidia-smi` does not report. */
export async function readGpuUsage(uuids: readonly string[]): Promise<WorkloadStats['gpus']> {
  if (uuids.length === 0) return [];
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', QUERY, { timeout: TIMEOUT_MS });
    return parseGpuUsage(stdout, uuids);
  } catch {
    return parseGpuUsage('', uuids);
  }
}

/** Returns how many bytes of the memory of these GPUs are in use, all programs together. Throws when that cannot be read. */
export async function readUsedGpuMemory(uuids: readonly string[]): Promise<number> {
  if (uuids.length === 0) return 0;
  const { stdout } = await promisify(execFile)('nvidia-smi', QUERY, { timeout: TIMEOUT_MS });
  return parseUsedMemory(stdout, uuids);
}

/** Adds up the used memory of these GPUs; see `parseGpuUsage`. Of a GPU that does not say, all of it counts. */
export function parseUsedMemory(text: string, uuids: readonly string[]): number {
  const lines = text.split('\n').map((line) => line.split(', '));
  const mib = lines.map(([uuid, , used, total]) => (uuids.includes(uuid!) ? Number(used) || Number(total) || 0 : 0));
  return mib.reduce((sum, one) => sum + one, 0) * 2 ** 20;
}

/** Parses lines of `GPU-<uuid>, <percent>, <MiB used>, <MiB total>`; a figure may be `[N/A]`. */
export function parseGpuUsage(text: string, uuids: readonly string[]): WorkloadStats['gpus'] {
  const lines = new Map(text.split('\n').map((line) => [line.split(', ')[0]!, line.split(', ').slice(1).map(Number)]));
  return uuids.map((uuid) => {
    const [util, used, total] = lines.get(uuid) ?? [];
    return { util: util || 0, memoryUtil: total ? Math.round(((used || 0) / total) * 1000) / 10 : 0 };
  });
}
