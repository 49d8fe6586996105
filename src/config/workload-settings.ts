import { resolve } from 'node:path';
import { RUNTIME_NAMES } from '../core/runtime-names.ts';
import { UsageError } from '../core/usage-error.ts';
import { EGRESS } from './egress.ts';
import { PER_GPU } from './gpu-share-settings.ts';
import { parseInteger, parseIpAddress, parseMemory, parseMirrors, parseRegistries } from './parse-setting.ts';
import { asGiven, integer, oneOf, onOff, optional, setting } from './setting.ts';
import { WEBHOOKS } from './webhook-settings.ts';
import { WORKLOAD_OPTION_RULES } from './workload-option-settings.ts';

const RUNTIMES = ['auto', ...RUNTIME_NAMES] as const;

/** Where workloads run, what they get of the machine, and what they reach. */
export const WORKLOADS = {
  runtime: oneOf({
    variable: 'PODYARD_RUNTIME',
    flag: 'runtime',
    takes: '<name>',
    default: 'auto',
    values: RUNTIMES,
    page: `${RUNTIMES.join(', ')}: [below](#runtimes)`,
    help: `where workers run: ${RUNTIMES.slice(0, -1).join(', ')} or ${RUNTIMES.at(-1)}`,
  }),
  egress: EGRESS,
  /** Null: any. */
  registries: setting({
    variable: 'PODYARD_REGISTRIES',
    flag: 'registries',
    takes: '<patterns>',
    default: '',
    shownDefault: 'any',
    parse: parseRegistries,
    page: 'Registries that images may come from: [below](#registries)',
    help: 'registries that images may come from, e.g. docker.io,*.example.com',
  }),
  /** By the registry's host. */
  registryMirrors: setting({
    variable: 'PODYARD_REGISTRY_MIRRORS',
    flag: 'registryMirrors',
    takes: '<mirrors>',
    default: '',
    shownDefault: 'none',
    parse: parseMirrors,
    page: 'Mirrors that open images are pulled from first, by engines: [below](#registries)',
    help: 'mirrors that images are pulled from first, e.g. docker.io=https://mirror.lan:5000',
  }),
  pullAhead: onOff({
    variable: 'PODYARD_PULL_AHEAD',
    default: true,
    page: '`false`: images are pulled [when a worker needs them](guide/images.md#pulled-ahead), and not before',
    chart: { value: 'workloads.pullAhead', as: 'template' },
  }),
  webhooks: WEBHOOKS,
  allowInsecureProcesses: onOff({
    variable: 'PODYARD_INSECURE_PROCESS_RUNTIME',
    flag: 'insecureProcessRuntime',
    default: false,
    page: 'Lets several users share the process runtime, which does not separate them',
    help: 'let several users share the process runtime, which does not separate them',
  }),
  /**
   * By pool and data center (null: this machine's). Empty: real GPUs only. Null: simulate only if no real GPU is found.
   */
  simulateGpus: optional({
    variable: 'PODYARD_SIMULATE_GPUS',
    flag: 'simulateGpus',
    takes: '<pools>',
    shownDefault: 'ADA_24:4 without GPUs',
    parse: simulatedGpus,
    page: 'GPUs to simulate; their workers run on the CPU: `ADA_24:4,AMPERE_80@EU-RO-1:1`; `off`: real GPUs only',
    help: 'GPUs to simulate, e.g. ADA_24:4,AMPERE_80@EU-RO-1:1; off: real GPUs only',
    chart: { value: 'workloads.simulateGpus', as: 'text' },
  }),
  shareGpus: integer({
    variable: 'PODYARD_SHARE_GPUS',
    flag: 'shareGpus',
    takes: '<number>',
    default: 1,
    min: 1,
    max: 64,
    page: 'Workers that get each GPU at once, not isolated: see [GPUs](guide/gpus.md)',
    help: 'workers that get each GPU at once, not isolated from each other',
  }),
  gpuProbeImage: optional({
    variable: 'PODYARD_GPU_PROBE_IMAGE',
    shownDefault: "the server's own",
    parse: asGiven,
    page: 'Image in which GPUs are read if the server sees none: [GPUs](guide/gpus.md)',
  }),
  /** Memory that all frozen workers may hold together. 0 disables freezing. */
  frozenMemory: setting({
    variable: 'PODYARD_FROZEN_MEMORY',
    flag: 'frozenMemory',
    takes: '<size>',
    default: '25%',
    parse: parseMemory,
    page: "Memory for frozen workers: `8GiB`, a share of the machine's memory, or 0",
    help: 'memory for frozen workers: 8GiB, 25% or 0 for none',
  }),
  perGpu: PER_GPU,
  workloadOptions: WORKLOAD_OPTION_RULES,
  imagesFiles: setting({
    variable: 'PODYARD_IMAGES_FILES',
    default: '',
    shownDefault: 'none',
    parse: (_name, text): readonly string[] =>
      text
        .split(':')
        .filter(Boolean)
        .map((file) => resolve(file)),
    page: 'Additional image files for the process runtime, separated by colons',
  }),
  publishIp: setting({
    variable: 'PODYARD_PUBLISH_IP',
    default: '127.0.0.1',
    parse: parseIpAddress,
    page: "Address on which TCP ports of pods are published; with `0.0.0.0` clients are given this machine's first address",
  }),
  preparedNetworks: integer({
    variable: 'PODYARD_PREPARED_NETWORKS',
    default: 4,
    min: 0,
    max: 100,
    page: 'With containers: networks to have ready, and more after a burst of starts, so that workers start sooner; 0: none',
  }),
};

/** `off`, or `<pool>[@<data center>][:<count>]` items separated by commas. A repeated place keeps its last count. */
function simulatedGpus(
  name: string,
  text: string,
): readonly { pool: string; dataCenterId: string | null; total: number }[] {
  if (text === 'off') return [];
  const pools = text
    .split(',')
    .filter(Boolean)
    .map((item) => {
      const [place = '', count] = item.split(':');
      const [pool = '', dataCenterId] = place.trim().split('@');
      if (pool === '') throw new UsageError(`${name} has '${item}', but must be like ADA_24:4 or ADA_24@EU-RO-1:4`);
      const total = parseInteger(`${name} ${place}`, count, { min: 0, max: 100_000, fallback: 1 });
      return { pool, dataCenterId: dataCenterId || null, total };
    });
  return [...new Map(pools.map((entry) => [`${entry.pool}@${entry.dataCenterId}`, entry])).values()];
}
