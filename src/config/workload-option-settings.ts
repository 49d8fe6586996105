import { UsageError } from '../core/usage-error.ts';
import { parseMemory } from './parse-setting.ts';

/** What the operator lets endpoints set for their workers. Nothing by default: a label can open a network, and memory is others' too. */
export interface WorkloadOptionRules {
  /** Names of labels and annotations of pods. */
  podMetadata: readonly string[];
  /** Null: endpoints may not set it. */
  maxCpusPerGpu: number | null;
  maxMemoryGbPerGpu: number | null;
}

export const NO_WORKLOAD_OPTIONS: WorkloadOptionRules = {
  podMetadata: [],
  maxCpusPerGpu: null,
  maxMemoryGbPerGpu: null,
};

/** A qualified name of Kubernetes: an optional DNS name and a slash, then at most 63 characters. */
export const METADATA_NAME = /^([a-z0-9][-.a-z0-9]{0,251}[a-z0-9]\/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
/** Podyard tells its own pods by these. */
const RESERVED = /^(podyard\.dev|app\.kubernetes\.io)\//;
const GIB = 2 ** 30;

/** Reads the variables. Throws an error that names the variable, its value and what is allowed. */
export function readWorkloadOptionRules(env: NodeJS.ProcessEnv): WorkloadOptionRules {
  return {
    podMetadata: podMetadata(env.PODYARD_KUBERNETES_ENDPOINT_METADATA),
    maxCpusPerGpu: maxCpus(env.PODYARD_MAX_CPUS_PER_GPU),
    maxMemoryGbPerGpu: maxMemoryGb(env.PODYARD_MAX_MEMORY_PER_GPU),
  };
}

function podMetadata(text = ''): string[] {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const wrong = names.find((name) => !METADATA_NAME.test(name) || RESERVED.test(name));
  if (wrong === undefined) return names;
  const rule = RESERVED.test(wrong) ? 'that name is reserved' : 'takes names such as sidecar.istio.io/inject';
  throw new UsageError(`PODYARD_KUBERNETES_ENDPOINT_METADATA has '${wrong}', but ${rule}`);
}

function maxCpus(value = ''): number | null {
  if (value === '' || value === 'off') return null;
  const cpus = /^\d{1,4}(\.\d{1,2})?$/.test(value) ? Number(value) : 0;
  if (cpus > 0) return cpus;
  throw new UsageError(`PODYARD_MAX_CPUS_PER_GPU is '${value}', but must be a number of CPUs, or off`);
}

function maxMemoryGb(value = ''): number | null {
  if (value === '' || value === 'off') return null;
  const memory = parseMemory('PODYARD_MAX_MEMORY_PER_GPU', value);
  if ('bytes' in memory && memory.bytes >= GIB) return Math.floor(memory.bytes / GIB);
  throw new UsageError(`PODYARD_MAX_MEMORY_PER_GPU is '${value}', but must be a size of at least 1GiB, or off`);
}
