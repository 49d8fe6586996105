import { UsageError } from '../core/usage-error.ts';
import { parseMemory } from './parse-setting.ts';
import { readSettings, setting, type ValuesOf } from './setting.ts';

/** A qualified name of Kubernetes: an optional DNS name and a slash, then at most 63 characters. */
export const METADATA_NAME = /^([a-z0-9][-.a-z0-9]{0,251}[a-z0-9]\/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
/** Podyard marks its own pods with these. */
const RESERVED = /^(podyard\.dev|app\.kubernetes\.io)\//;
const GIB = 2 ** 30;

/** The options that the operator lets endpoints set for their workers. None by default: a label can open a network, and memory is shared. */
export const WORKLOAD_OPTION_RULES = {
  podMetadata: setting({
    variable: 'PODYARD_KUBERNETES_ENDPOINT_METADATA',
    default: '',
    shownDefault: 'none',
    parse: metadataNames,
    page: 'With Kubernetes: labels and annotations that [endpoints may set](interface/rest.md#workload-options): `<name>,…`',
    chart: { value: 'workloads.endpointMetadata', as: 'list' },
  }),
  /** Null: endpoints may not set it. */
  maxCpusPerGpu: setting({
    variable: 'PODYARD_MAX_CPUS_PER_GPU',
    default: 'off',
    parse: maxCpus,
    page: 'The most CPUs per GPU that an endpoint may [set for itself](interface/rest.md#workload-options): `8`',
    chart: { value: 'workloads.maxCpusPerGpu', as: 'text' },
  }),
  maxMemoryGbPerGpu: setting({
    variable: 'PODYARD_MAX_MEMORY_PER_GPU',
    default: 'off',
    parse: maxMemoryGb,
    page: 'The most memory per GPU that an endpoint may set for itself: `64GiB`',
    chart: { value: 'workloads.maxMemoryPerGpu', as: 'text' },
  }),
};

export type WorkloadOptionRules = ValuesOf<typeof WORKLOAD_OPTION_RULES>;

export const NO_WORKLOAD_OPTIONS: WorkloadOptionRules = readSettings(WORKLOAD_OPTION_RULES, {}, {});

function metadataNames(variable: string, text: string): readonly string[] {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const wrong = names.find((name) => !METADATA_NAME.test(name) || RESERVED.test(name));
  if (wrong === undefined) return names;
  const rule = RESERVED.test(wrong) ? 'that name is reserved' : 'takes names such as sidecar.istio.io/inject';
  throw new UsageError(`${variable} has '${wrong}', but ${rule}`);
}

function maxCpus(variable: string, value: string): number | null {
  if (value === 'off') return null;
  const cpus = /^\d{1,4}(\.\d{1,2})?$/.test(value) ? Number(value) : 0;
  if (cpus > 0) return cpus;
  throw new UsageError(`${variable} is '${value}', but must be a number of CPUs, or off`);
}

function maxMemoryGb(variable: string, value: string): number | null {
  if (value === 'off') return null;
  const memory = parseMemory(variable, value);
  if ('bytes' in memory && memory.bytes >= GIB) return Math.floor(memory.bytes / GIB);
  throw new UsageError(`${variable} is '${value}', but must be a size of at least 1GiB, or off`);
}
