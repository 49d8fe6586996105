import type { Schemas } from '../../../api/client.ts';
import { changesOf } from '../../../ui/forms/changes.ts';
import type { Fields } from '../../../ui/forms/fields.ts';
import type { SummaryText } from '../../../ui/forms/summary.tsx';
import { formatCount } from '../../../ui/text/format.ts';

type Rule = Schemas['GpuRule'];

export interface GpuRuleValues {
  excludedGpuTypes: string[];
  minCudaVersion: string;
  allowedCudaVersions: string[];
}

export const RULE_FIELDS: Fields<GpuRuleValues> = {
  excludedGpuTypes: { label: 'Excluded GPU types', initial: [] },
  minCudaVersion: {
    label: 'Oldest CUDA version',
    help: 'GPUs whose driver supports this version or a newer one, for example 12.8',
    initial: '',
  },
  allowedCudaVersions: {
    label: 'Allowed CUDA versions',
    help: 'Exactly these versions. Press Enter to add one.',
    initial: [],
  },
};

export function gpuRuleValues({ excludedGpuTypes, allowedCudaVersions, minCudaVersion }: Rule): GpuRuleValues {
  return { excludedGpuTypes, minCudaVersion: minCudaVersion ?? '', allowedCudaVersions };
}

/** Says which GPUs the rule leaves of those in the endpoint's pools; undefined: not known yet. */
export function gpuRuleSummary(
  values: GpuRuleValues,
  rule: Rule,
  inPools: readonly { id: string; name: string }[] | undefined,
): SummaryText {
  const left = inPools?.filter(({ id }) => !values.excludedGpuTypes.includes(id)) ?? [];
  const isNoneLeft = inPools !== undefined && inPools.length > 0 && left.length === 0;
  const names = new Map(inPools?.map(({ id, name }) => [id, name]));
  return {
    facts: inPools
      ? [
          { label: 'Pools have', value: formatCount(inPools.length, 'GPU type') },
          { label: 'Workers get', value: left.map(({ name }) => name).join(', ') || 'none of them' },
        ]
      : [],
    warning: isNoneLeft ? 'No GPU is left: no worker can start.' : null,
    changes: changesOf(RULE_FIELDS, gpuRuleValues(rule), values, names),
    effect: 'Takes effect at once, and replaces workers on other GPUs.',
  };
}
