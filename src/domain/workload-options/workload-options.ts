import type { PerGpuSettings } from '../../config/gpu-share-settings.ts';
import type { WorkloadOptionRules } from '../../config/workload-option-settings.ts';

/** Options of an endpoint's workers beside the container settings (docs/interface/rest.md, "Workload options"). */
export interface WorkloadOptions {
  /** Labels of their pods on Kubernetes. */
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** Null: what the operator set. */
  cpusPerGpu: number | null;
  memoryGbPerGpu: number | null;
}

export const NO_OPTIONS: WorkloadOptions = { labels: {}, annotations: {}, cpusPerGpu: null, memoryGbPerGpu: null };

/** Why the operator's rules do not permit the options; null if they do. */
export function refusalOf(options: WorkloadOptions, rules: WorkloadOptionRules): string | null {
  return (
    refusedName('labels', options.labels, rules) ??
    refusedName('annotations', options.annotations, rules) ??
    refusedAmount('cpusPerGpu', options.cpusPerGpu, rules.maxCpusPerGpu, 'PODYARD_MAX_CPUS_PER_GPU') ??
    refusedAmount('memoryGbPerGpu', options.memoryGbPerGpu, rules.maxMemoryGbPerGpu, 'PODYARD_MAX_MEMORY_PER_GPU')
  );
}

function refusedName(member: string, values: Record<string, string>, { podMetadata }: WorkloadOptionRules) {
  const name = Object.keys(values).find((one) => !podMetadata.includes(one));
  if (name === undefined) return null;
  const allowed = podMetadata.length === 0 ? 'none' : podMetadata.join(', ');
  return `${member}: '${name}' is not permitted on this server; permitted: ${allowed} (PODYARD_KUBERNETES_ENDPOINT_METADATA)`;
}

function refusedAmount(member: string, amount: number | null, max: number | null, setting: string): string | null {
  if (amount === null || (max !== null && amount <= max)) return null;
  if (max === null) return `${member}: endpoints cannot set it on this server (${setting})`;
  return `${member}: must not be more than ${max} on this server (${setting})`;
}

/** True for the default rules. */
export function isNothingPermitted({ podMetadata, maxCpusPerGpu, maxMemoryGbPerGpu }: WorkloadOptionRules): boolean {
  return podMetadata.length === 0 && maxCpusPerGpu === null && maxMemoryGbPerGpu === null;
}

/** Returns the options that today's rules permit, which may be stricter than those they were set by. */
export function permittedOptions(options: WorkloadOptions, rules: WorkloadOptionRules): WorkloadOptions {
  const permitted = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => rules.podMetadata.includes(name)));
  const atMost = (amount: number | null, max: number | null) =>
    amount === null || max === null ? null : Math.min(amount, max);
  return {
    labels: permitted(options.labels),
    annotations: permitted(options.annotations),
    cpusPerGpu: atMost(options.cpusPerGpu, rules.maxCpusPerGpu),
    memoryGbPerGpu: atMost(options.memoryGbPerGpu, rules.maxMemoryGbPerGpu),
  };
}

/** The operator's amounts for each GPU, with the endpoint's instead where it has set some. */
export function perGpuWith(settings: PerGpuSettings, { cpusPerGpu, memoryGbPerGpu }: WorkloadOptions): PerGpuSettings {
  return {
    cpus: cpusPerGpu ?? settings.cpus,
    memory: memoryGbPerGpu === null ? settings.memory : { bytes: memoryGbPerGpu * 2 ** 30 },
  };
}
