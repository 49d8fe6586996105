import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { poolOf } from '../gpu-pools.ts';

/** A GPU of this machine. */
export interface Gpu {
  uuid: string;
  gpuTypeId: string;
  pool: string;
}

const QUERY = ['--query-gpu=uuid,name', '--format=csv,noheader'];

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
