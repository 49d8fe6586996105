import { join, resolve } from 'node:path';
import { type MasterKeySource, parseMasterKeys } from '../core/master-key.ts';
import type { TracingSettings } from '../core/otlp-tracing.ts';
import { parseRateQuotas, type RateQuotas } from '../core/rate-quotas.ts';
import { REST_REVISIONS, type RestRevision } from '../core/rest-revisions.ts';
import { UsageError } from '../core/usage-error.ts';
import { type EgressSettings, parseEgress } from './egress.ts';
import { type PerGpuSettings, parseCpusPerGpu, parseMemoryPerGpu } from './gpu-share-settings.ts';
import { type KubernetesSettings, readKubernetesSettings } from './kubernetes-settings.ts';
import {
  type JobLimits,
  type LoadBalancingLimits,
  type PodProxyLimits,
  readJobLimits,
  readLoadBalancingLimits,
  readPodProxyLimits,
  readTerminalLimits,
  type TerminalLimits,
} from './limit-settings.ts';
import {
  integerVariable,
  parseHostName,
  parseInteger,
  parseIpAddress,
  parseMemory,
  parseNetworks,
  parseOneOf,
  parseRegistries,
  parseUrl,
  secondsVariable,
} from './parse-setting.ts';
import { readTracingSettings } from './tracing-settings.ts';
import { parseWebhookNetworks, type WebhookSettings } from './webhook-settings.ts';
import { readWorkloadOptionRules, type WorkloadOptionRules } from './workload-option-settings.ts';

export type { JobLimits, LoadBalancingLimits, PodProxyLimits } from './limit-settings.ts';

/**
 * Everything that an operator can set. Only this file, with the parsers it calls in core/, reads the environment. A flag
 * wins over its variable.
 */
export interface Config {
  port: number;
  host: string;
  dataDir: string;
  /** Null: the embedded server in `dataDir`. */
  databaseUrl: string | null;
  /** URL at which clients reach the API. Null: `http://host:port`; on a wildcard address, the request's Host. */
  publicUrl: string | null;
  /** Pods answer at `<pod id>-<port>.<proxyHost>`. May include the port to show in URLs. Null: `localhost`. */
  proxyHost: string | null;
  /** Load-balancing endpoints answer at `<endpoint id>.<lbHost>`. May include a port. Null: `localhost`. */
  lbHost: string | null;
  /** Null: plain HTTP. */
  tls: { certFile: string; keyFile: string } | null;
  /** Addresses and networks of proxies whose `X-Forwarded-*` headers are trusted. */
  trustedProxies: readonly string[];
  runtime: 'auto' | 'docker' | 'process' | 'kubernetes' | 'simulated';
  /**
   * Simulated GPUs by pool and data center (null: this machine's). Empty: real GPUs only. Null: simulate only if no real
   * GPU is found.
   */
  simulateGpus: readonly { pool: string; dataCenterId: string | null; total: number }[] | null;
  /** How many workloads get each GPU at the same time, without isolation between them. 1: each its own. */
  shareGpus: number;
  /** Image of the container in which GPUs are read where this process sees none. Null: that of its own container. */
  gpuProbeImage: string | null;
  /** Memory that all frozen workers may hold together: bytes, or a share of the machine's memory. 0 disables freezing. */
  frozenMemory: { bytes: number } | { share: number };
  /** Limits of workers and pods with GPUs. */
  perGpu: PerGpuSettings;
  /** What endpoints may set for their workers. */
  workloadOptions: WorkloadOptionRules;
  logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** API requests per user and window; null: unlimited. A user's own quotas override it. */
  rateLimit: RateQuotas | null;
  /** Encrypts the secrets in the database: given, or in a file in `dataDir` that the first start creates. Never logged. */
  masterKey: MasterKeySource;
  /** File that replaces or extends the built-in catalog; null: none. */
  catalogFile: string | null;
  /** The first user's key; null: generated and shown once. Never logged. */
  adminKey: string | null;
  /** What `/v2` speaks to clients that name no revision. */
  restRevision: RestRevision;
  /** Allows introspection of the GraphQL schema. */
  isGraphqlIntrospectable: boolean;
  /** Serves REST v1 beside the newer versions. */
  isRestV1On: boolean;
  /** Where webhooks may go besides the public internet. */
  webhooks: WebhookSettings;
  stopWorkersOnExit: boolean;
  /** What this process does. Any number may serve `api` and `data`; one of those with `control` leads. */
  roles: ReadonlySet<Role>;
  /** Processes that serve `api` and `data` on the same port. Above 1, this process serves neither but starts them. */
  dataProcesses: number;
  /** How long the server keeps serving after SIGTERM, not ready, so that load balancers notice. */
  stopDelayMs: number;
  /** After that, how long requests that wait for a job may go on waiting, before they are answered with what is known. */
  stopGraceMs: number;
  /** Port of the worker API; null: chosen at the first start and kept. */
  workerApiPort: number | null;
  /** Address of this machine on which ports of pods are published. */
  publishIp: string;
  /** Networks of containers to have ready for workers; 0: none. */
  preparedNetworks: number;
  /** What workers and pods can reach. */
  egress: EgressSettings;
  /** Patterns of the registries that images may come from; null: any. */
  registries: readonly string[] | null;

  kubernetes: KubernetesSettings;
  /** The part of the environment that workers of the process runtime inherit: PATH, HOME, LANG, TMPDIR. */
  hostEnv: Readonly<Record<string, string>>;
  /** Lets several users share the process runtime, which does not separate them. */
  allowInsecureProcesses: boolean;
  /** Additional files that map image names to commands, for the process runtime. */
  imagesFiles: readonly string[];
  metrics: MetricsSettings;
  /** Null: no traces. The exporter reads OpenTelemetry's other variables itself. */
  tracing: TracingSettings | null;
  limits: JobLimits;
  loadBalancing: LoadBalancingLimits;
  podProxy: PodProxyLimits;
  /** Limits of terminal sessions; null: they are disabled. */
  terminal: TerminalLimits | null;
  /** Settings that are likely mistakes, one sentence each, without a period. They keep no server from starting. */
  warnings: readonly string[];
}

export const ROLES = ['api', 'data', 'control'] as const;
export type Role = (typeof ROLES)[number];

/** Settings of `/metrics`. */
export interface MetricsSettings {
  /** Bearer token that a scraper may send instead of a key of user `admin`; null: none. Never logged. */
  token: string | null;
  /** Endpoints with their own series; the others are counted together. */
  maxEndpoints: number;
}

export interface Flags {
  port?: string;
  host?: string;
  dataDir?: string;
  databaseUrl?: string;
  publicUrl?: string;
  proxyHost?: string;
  lbHost?: string;
  tlsCert?: string;
  tlsKey?: string;
  trustedProxies?: string;
  runtime?: string;
  egress?: string;
  egressAllow?: string;
  registries?: string;
  webhookNetworks?: string;
  simulateGpus?: string;
  shareGpus?: string;
  frozenMemory?: string;
  memoryPerGpu?: string;
  cpusPerGpu?: string;
  rateLimit?: string;
  restRevision?: string;
  restV1?: boolean;
  terminal?: boolean;
  catalog?: string;
  logLevel?: string;
  logRetentionSeconds?: string;
  logSize?: string;
  stopWorkers?: boolean;
  insecureProcessRuntime?: boolean;
  roles?: string;
  dataProcesses?: string;
}

const RUNTIMES = ['auto', 'docker', 'process', 'kubernetes', 'simulated'] as const;
const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;
const MIN_ADMIN_KEY_CHARACTERS = 16;
const HOST_ENV = ['PATH', 'HOME', 'LANG', 'TMPDIR'];

/** Ten times the public API's quotas: here a user only loads their own machine. */
const DEFAULT_QUOTAS: RateQuotas = { minute: 600, hour: 30_000, day: 500_000 };

type Env = NodeJS.ProcessEnv;

/** Reads flags and environment. Throws a sentence that names the setting, its value and what is allowed. */
export function readConfig(flags: Flags, env: Env): Config {
  const listener = readListener(flags, env);
  const access = readAccess(flags, env);
  return {
    ...listener,
    ...readPublicNames(flags, env),
    ...readStorage(flags, env),
    ...readProcesses(flags, env),
    ...readWorkloads(flags, env),
    ...access,
    logLevel: parseOneOf('--log-level', text(flags.logLevel, env, 'PODYARD_LOG_LEVEL') ?? 'info', LOG_LEVELS),
    metrics: readMetrics(env),
    tracing: readTracingSettings(env),
    limits: readJobLimits(flags, env),
    loadBalancing: readLoadBalancingLimits(env),
    podProxy: readPodProxyLimits(env),
    terminal: flags.terminal === false ? null : readTerminalLimits(env),
    warnings: [...warnOfListener(listener), ...warnOfAdminKey(access)],
  };
}

function readListener(flags: Flags, env: Env): Pick<Config, 'port' | 'host' | 'tls' | 'trustedProxies'> {
  const port = text(flags.port, env, 'PODYARD_PORT');
  return {
    port: parseInteger('--port', port, { min: 0, max: 65_535, fallback: 8080 }),
    host: text(flags.host, env, 'PODYARD_HOST') ?? '127.0.0.1',
    tls: tlsFiles(text(flags.tlsCert, env, 'PODYARD_TLS_CERT'), text(flags.tlsKey, env, 'PODYARD_TLS_KEY')),
    trustedProxies: parseNetworks('--trusted-proxies', text(flags.trustedProxies, env, 'PODYARD_TRUSTED_PROXIES')),
  };
}

function warnOfListener({ host, tls, trustedProxies }: Pick<Config, 'host' | 'tls' | 'trustedProxies'>): string[] {
  if (LOOPBACK.test(host) || tls !== null || trustedProxies.length > 0) return [];
  return [
    `WARNING: --host ${host} is reached without TLS, so API keys can be read on the network: set --tls-cert and --tls-key, or --trusted-proxies where a proxy ends TLS`,
  ];
}

/** Never quotes the key. */
function warnOfAdminKey({ adminKey }: Pick<Config, 'adminKey'>): string[] {
  if (adminKey === null || adminKey.length >= MIN_ADMIN_KEY_CHARACTERS) return [];
  return [
    `WARNING: PODYARD_ADMIN_KEY has fewer than ${MIN_ADMIN_KEY_CHARACTERS} characters and can be guessed: use a long random one`,
  ];
}

function readPublicNames(flags: Flags, env: Env): Pick<Config, 'publicUrl' | 'proxyHost' | 'lbHost'> {
  return {
    publicUrl: parseUrl('--public-url', text(flags.publicUrl, env, 'PODYARD_PUBLIC_URL')),
    proxyHost: parseHostName('--proxy-host', text(flags.proxyHost, env, 'PODYARD_PROXY_HOST')),
    lbHost: parseHostName('--lb-host', text(flags.lbHost, env, 'PODYARD_LB_HOST')),
  };
}

function readStorage(flags: Flags, env: Env): Pick<Config, 'dataDir' | 'databaseUrl' | 'masterKey' | 'catalogFile'> {
  const dataDir = resolve(text(flags.dataDir, env, 'PODYARD_DATA_DIR') ?? '.podyard');
  const catalog = text(flags.catalog, env, 'PODYARD_CATALOG');
  return {
    dataDir,
    databaseUrl: text(flags.databaseUrl, env, 'PODYARD_DATABASE_URL', 'DATABASE_URL') ?? null,
    masterKey: {
      keys: env.PODYARD_MASTER_KEY ? parseMasterKeys(env.PODYARD_MASTER_KEY, 'PODYARD_MASTER_KEY') : null,
      file: join(dataDir, 'master-key'),
    },
    catalogFile: catalog === undefined ? null : resolve(catalog),
  };
}

function readProcesses(
  flags: Flags,
  env: Env,
): Pick<Config, 'roles' | 'dataProcesses' | 'stopDelayMs' | 'stopGraceMs' | 'workerApiPort'> {
  const names = text(flags.roles, env, 'PODYARD_ROLES') ?? ROLES.join(',');
  const roles = new Set(names.split(',').map((role) => parseOneOf('--roles', role.trim(), ROLES)));
  const workerApiPort = env.PODYARD_WORKER_API_PORT;
  return {
    roles,
    dataProcesses: dataProcesses(text(flags.dataProcesses, env, 'PODYARD_DATA_PROCESSES'), roles),
    stopDelayMs: secondsVariable(env, 'PODYARD_STOP_DELAY_SECONDS', 0),
    stopGraceMs: secondsVariable(env, 'PODYARD_STOP_GRACE_SECONDS', 0),
    workerApiPort:
      workerApiPort === undefined
        ? null
        : parseInteger('PODYARD_WORKER_API_PORT', workerApiPort, { min: 0, max: 65_535, fallback: 0 }),
  };
}

function readWorkloads(
  flags: Flags,
  env: Env,
): Pick<
  Config,
  | 'runtime'
  | 'simulateGpus'
  | 'shareGpus'
  | 'gpuProbeImage'
  | 'frozenMemory'
  | 'perGpu'
  | 'workloadOptions'
  | 'stopWorkersOnExit'
  | 'publishIp'
  | 'preparedNetworks'
  | 'egress'
  | 'registries'
  | 'kubernetes'
  | 'hostEnv'
  | 'imagesFiles'
  | 'allowInsecureProcesses'
> {
  const imagesFiles = (env.PODYARD_IMAGES_FILES ?? '').split(':').filter(Boolean);
  return {
    runtime: parseOneOf('--runtime', text(flags.runtime, env, 'PODYARD_RUNTIME') ?? 'auto', RUNTIMES),
    simulateGpus: simulatedGpus(text(flags.simulateGpus, env, 'PODYARD_SIMULATE_GPUS')),
    shareGpus: parseInteger('--share-gpus', text(flags.shareGpus, env, 'PODYARD_SHARE_GPUS'), {
      min: 1,
      max: 64,
      fallback: 1,
    }),
    gpuProbeImage: env.PODYARD_GPU_PROBE_IMAGE || null,
    frozenMemory: parseMemory('--frozen-memory', text(flags.frozenMemory, env, 'PODYARD_FROZEN_MEMORY') ?? '25%'),
    perGpu: {
      memory: parseMemoryPerGpu('--memory-per-gpu', text(flags.memoryPerGpu, env, 'PODYARD_MEMORY_PER_GPU')),
      cpus: parseCpusPerGpu('--cpus-per-gpu', text(flags.cpusPerGpu, env, 'PODYARD_CPUS_PER_GPU')),
    },
    workloadOptions: readWorkloadOptionRules(env),
    stopWorkersOnExit: flags.stopWorkers ?? env.PODYARD_STOP_WORKERS === 'true',
    publishIp: parseIpAddress('PODYARD_PUBLISH_IP', env.PODYARD_PUBLISH_IP, '127.0.0.1'),
    preparedNetworks: parseInteger('PODYARD_PREPARED_NETWORKS', env.PODYARD_PREPARED_NETWORKS, {
      min: 0,
      max: 100,
      fallback: 4,
    }),
    egress: parseEgress(
      text(flags.egress, env, 'PODYARD_EGRESS'),
      text(flags.egressAllow, env, 'PODYARD_EGRESS_ALLOW'),
    ),
    registries: parseRegistries('--registries', text(flags.registries, env, 'PODYARD_REGISTRIES')),
    kubernetes: readKubernetesSettings(env),
    hostEnv: Object.fromEntries(HOST_ENV.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    allowInsecureProcesses: flags.insecureProcessRuntime ?? env.PODYARD_INSECURE_PROCESS_RUNTIME === 'true',
    imagesFiles: imagesFiles.map((file) => resolve(file)),
  };
}

function readAccess(
  flags: Flags,
  env: Env,
): Pick<Config, 'adminKey' | 'rateLimit' | 'restRevision' | 'isGraphqlIntrospectable' | 'isRestV1On' | 'webhooks'> {
  const restRevision = text(flags.restRevision, env, 'PODYARD_REST_REVISION');
  return {
    adminKey: env.PODYARD_ADMIN_KEY || null,
    rateLimit: rateLimit(text(flags.rateLimit, env, 'PODYARD_RATE_LIMIT')),
    restRevision: parseOneOf('--rest-revision', restRevision ?? REST_REVISIONS[0], REST_REVISIONS),
    isGraphqlIntrospectable: env.PODYARD_GRAPHQL_INTROSPECTION !== 'false',
    isRestV1On: flags.restV1 ?? env.PODYARD_REST_V1 === 'true',
    webhooks: {
      allowPrivate: env.PODYARD_ALLOW_PRIVATE_WEBHOOKS === 'true',
      allowed: parseWebhookNetworks(text(flags.webhookNetworks, env, 'PODYARD_WEBHOOK_NETWORKS')),
    },
  };
}

function readMetrics(env: Env): MetricsSettings {
  return {
    token: env.PODYARD_METRICS_TOKEN || null,
    maxEndpoints: integerVariable(env, 'PODYARD_METRICS_ENDPOINTS', { min: 0, max: 10_000, fallback: 50 }),
  };
}

/** The flag, or else the first variable that is set and not empty. */
function text(flag: string | undefined, env: Env, ...names: string[]): string | undefined {
  return flag ?? names.map((name) => env[name]).find((value) => value !== undefined && value !== '');
}

function tlsFiles(certFile: string | undefined, keyFile: string | undefined): Config['tls'] {
  if (certFile === undefined && keyFile === undefined) return null;
  if (certFile === undefined || keyFile === undefined) {
    throw new UsageError('--tls-cert and --tls-key belong together: set both, or neither');
  }
  return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
}

function dataProcesses(value: string | undefined, roles: ReadonlySet<Role>): number {
  const count = parseInteger('--data-processes', value, { min: 1, max: 64, fallback: 1 });
  if (count > 1 && !roles.has('api') && !roles.has('data')) {
    throw new UsageError(`--data-processes is ${count}, but --roles leaves them nothing to serve: add api or data`);
  }
  return count;
}

function rateLimit(value: string | undefined): RateQuotas | null {
  if (value === 'off') return null;
  return { ...DEFAULT_QUOTAS, ...(value === undefined ? {} : parseRateQuotas('--rate-limit', value)) };
}

/** `off`, or `<pool>[@<data center>][:<count>]` items separated by commas. A repeated place keeps its last count. */
function simulatedGpus(value: string | undefined): Config['simulateGpus'] {
  if (value === undefined) return null;
  if (value === 'off') return [];
  const pools = value
    .split(',')
    .filter(Boolean)
    .map((item) => {
      const [place = '', count] = item.split(':');
      const [pool = '', dataCenterId] = place.trim().split('@');
      if (pool === '')
        throw new UsageError(`--simulate-gpus has '${item}', but must be like ADA_24:4 or ADA_24@EU-RO-1:4`);
      const total = parseInteger(`--simulate-gpus ${place}`, count, { min: 0, max: 100_000, fallback: 1 });
      return { pool, dataCenterId: dataCenterId || null, total };
    });
  return [...new Map(pools.map((entry) => [`${entry.pool}@${entry.dataCenterId}`, entry])).values()];
}
