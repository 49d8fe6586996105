import type { NamedSchemas } from '../shared/example-values.ts';
import { closed } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

/** More GPU types or versions are refused: the catalog has fewer. */
const MAX_ITEMS = 100;
const VERSION = '^[0-9]{1,3}([.][0-9]{1,3}){0,2}$';

const members = {
  excludedGpuTypes: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    maxItems: MAX_ITEMS,
    uniqueItems: true,
    description: 'GPU types of the endpoint’s pools that its workers never get.',
  }),
  allowedCudaVersions: Type.Array(Type.String({ pattern: VERSION }), {
    maxItems: MAX_ITEMS,
    uniqueItems: true,
    description: 'Only GPUs whose driver supports exactly one of these CUDA versions. Empty: any.',
  }),
  minCudaVersion: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    pattern: VERSION,
    description: 'Only GPUs whose driver supports this CUDA version or a newer one, e.g. `12.8`. Null: any.',
  }),
};

export const ReplaceGpuRuleRequest = closed(members, { $id: 'ReplaceGpuRuleRequest' });

export const GpuRuleResponse = Type.Object(members, {
  $id: 'GpuRule',
  description: 'Podyard only: which GPUs of its pools an endpoint may get.',
});

const rule = { excludedGpuTypes: ['NVIDIA L4'], allowedCudaVersions: [], minCudaVersion: '12.8' };

export const GPU_RULE_SCHEMAS: NamedSchemas = [
  [ReplaceGpuRuleRequest, rule],
  [GpuRuleResponse, rule],
];
