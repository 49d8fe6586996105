import type { Examples } from '../shared/example-values.ts';

const rule = { excludedGpuTypes: ['NVIDIA L4'], allowedCudaVersions: [], minCudaVersion: '12.8' };

export const GPU_RULE_EXAMPLES: Examples = { ReplaceGpuRuleRequest: rule, GpuRule: rule };
