import { CUDA_VERSION, type CudaRule } from '../catalog/cuda-version.ts';
import type { EndpointClientSettings } from './endpoint.ts';

/** Which GPUs of an endpoint's pools its workers may get. Empty: any. */
export interface GpuRule {
  excludedTypes?: string[];
  cuda?: CudaRule;
}

/** Returns the rule that an endpoint's settings make. Ignores what no version is: older versions stored any text. */
export function gpuRuleOf(settings: EndpointClientSettings): GpuRule {
  const excludedTypes = settings.excludedGpuTypeIds ?? [];
  const allowed = splitVersions(settings.allowedCudaVersions).filter((version) => CUDA_VERSION.test(version));
  const [min] = splitVersions(settings.minCudaVersion).filter((version) => CUDA_VERSION.test(version));
  const cuda = { ...(allowed.length > 0 && { allowed }), ...(min !== undefined && { min }) };
  return {
    ...(excludedTypes.length > 0 && { excludedTypes }),
    ...(Object.keys(cuda).length > 0 && { cuda }),
  };
}

export function splitVersions(list: string | undefined): string[] {
  return (list ?? '').split(',').flatMap((item) => item.trim() || []);
}
