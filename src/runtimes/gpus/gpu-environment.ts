import type { Gpu } from './gpu.ts';

/**
 * Which GPUs the programs of a process see: those with these UUIDs and no others, none without any. CUDA takes UUIDs, of
 * slices too. ROCm takes UUIDs in the outer variable, and numbers what it leaves from 0 for the inner one.
 */
export function gpuEnvironment(gpus: readonly Pick<Gpu, 'uuid' | 'vendor'>[]): Record<string, string> {
  const uuidsOf = (vendor: Gpu['vendor']) => gpus.filter((gpu) => gpu.vendor === vendor).map(({ uuid }) => uuid);
  const amd = uuidsOf('AMD');
  return {
    CUDA_VISIBLE_DEVICES: uuidsOf('NVIDIA').join(','),
    ROCR_VISIBLE_DEVICES: amd.join(','),
    HIP_VISIBLE_DEVICES: amd.map((_, i) => i).join(','),
  };
}
