import type { Static } from 'typebox';
import type { WorkloadOptionRules } from '../../config/workload-option-settings.ts';
import type { WorkloadOptions } from '../../domain/workload-options/workload-options.ts';
import type { WorkloadOptionsResponse } from './workload-option-schemas.ts';

export function toWorkloadOptionsResponse(
  options: WorkloadOptions,
  { podMetadata, maxCpusPerGpu, maxMemoryGbPerGpu }: WorkloadOptionRules,
): Static<typeof WorkloadOptionsResponse> {
  const permitted = { names: [...podMetadata], cpusPerGpu: maxCpusPerGpu, memoryGbPerGpu: maxMemoryGbPerGpu };
  return { ...options, permitted };
}
