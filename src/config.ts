import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { type KubernetesSettings, readKubernetesSettings } from './core/kubernetes-settings.ts';
import { type MasterKeySource, parseMasterKeys } from './core/master-key.ts';
import type { TracingSettings } from './core/otlp-tracing.ts';
import { parseRateQuotas, type RateQuotas } from './core/rate-quotas.ts';

/** Everything an operator can set. This file, with what it calls in core/, is the only one that reads the environment; a flag wins over its variable. */
export interface Config {
  port: number;
  host: string;
  dataDir: string;
  /** Null: the embedded server in `dataDir`. */
  databaseUrl: string | null;
  /** Where clients reach the API; null: `http://host:port`, or what the request's own Host says on a wildcard address. */
  publicUrl: string | null;
  /** Pods answer at `<pod id>-<port>.<proxyHost>`; with the port that is to stand in URLs, if one. Null: `localhost`. */
  proxyHost: string | null;
  /** Load-balancing endpoints answer at `<endpoint id>.<lbHost>`; likewise. */
  lbHost: string | null;
  /** Null: plain HTTP. */
  tls: { certFile: string; keyFile: string } | null;
  /** Addresses and networks of proxies in front of this one: what they say of their clients is taken. */
  trustedProxies: readonly string[];
  runtime: 'auto' | 'docker' | 'process' | 'kubernetes' | 'simulated';
  /**
   * GPUs that workers run without, by pool and data centre (null: the machine's own); empty: none, only real ones count.
   * Null: simulate only where no real GPU is found.
   */
  simulateGpus: readonly { pool: string; dataCenterId: string | null; total: number }[] | null;
  /** What frozen workers may hold in all (FlashBoot): bytes, or a share of the machine's memory. 0: nothing is frozen. */
  frozenMemory: { bytes: number } | { share: number };
  logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** How many REST requests a user may make; null: as many as they like. Users may have quotas of their own. */
  rateLimit: RateQuotas | null;
  /** What encrypts the secrets in the database: given, or in a file in `dataDir` that the first start makes. Never logged. */
  masterKey: MasterKeySource;
  /** A file that replaces or extends the catalogue; null: the built-in one. */
  catalogFile: string | null;
  /** The first user's key; null: one is made and shown once. Never logged. */
  adminKey: string | null;
  /** Whether clients may ask `/graphql` for its schema. */
  isGraphqlIntrospectable: boolean;
  /** Allows webhooks to private, loopback and link-local addresses. */
  allowPrivateWebhooks: boolean;
  stopWorkersOnExit: boolean;
  /** What this process does: any number may serve `api` and `data`; of those with `control` one leads. */
  roles: ReadonlySet<Role>;
  /** How many processes serve `api` and `data` on the same port; with more than one, others than this one do. */
  dataProcesses: number;
  /** How long it goes on serving after it was told to stop, no longer ready. */
  stopDelayMs: number;
  /** Port of the worker API; null: one that is chosen on the first start and kept. */
  workerApiPort: number | null;
  /** The address of this machine on which containers' ports of pods are published. */
  publishIp: string;
  /** Of the kubernetes runtime. */
  kubernetes: KubernetesSettings;
  /** What of the environment processes that run as workers get: PATH, HOME, LANG, TMPDIR. */
  hostEnv: Readonly<Record<string, string>>;
  /** More files that map image names to commands, for the process runtime. */
  imagesFiles: readonly string[];
  metrics: MetricsSettings;
  /** Null: spans are sent nowhere. The exporter itself reads OpenTelemetry's variables that say where and how. */
  tracing: TracingSettings | null;
  limits: JobLimits;
  loadBalancing: LoadBalancingLimits;
  podProxy: PodProxyLimits;
}

export const ROLES = ['api', 'data', 'control'] as const;
export type Role = (typeof ROLES)[number];

export interface JobLimits {
  runBodyBytes: number;
  runsyncBodyBytes: number;
  resultBytes: number;
  resultRetentionMs: number;
  syncResultRetentionMs: number;
  logRetentionMs: number;
  /** A worker that is silent for so long loses its jobs (docs/interface/worker-api.md, "Leases"). */
  leaseMs: number;
  /** How long a take is held open when there is no job. */
  takeHoldMs: number;
  /** How long a stopped worker may go on with what it runs. */
  graceMs: number;
}

/** Of `/metrics`. */
export interface MetricsSettings {
  /** What a scraper may send instead of a key; null: a key of user `admin` is the only way. Never logged. */
  token: string | null;
  /** How many endpoints have series of their own; more are counted together. */
  maxEndpoints: number;
}

/** Of requests to load-balancing endpoints; each process counts its own. */
export interface LoadBalancingLimits {
  /** How long a request waits for a worker. */
  holdMs: number;
  /** How many requests of one endpoint may wait; more are refused. */
  maxHeld: number;
  /** How many requests a worker gets at once, where the endpoint does not say otherwise. */
  concurrency: number;
  /** The largest request body; 0: any. */
  bodyBytes: number;
  /** How long a worker that leaves may go on with the requests it has. */
  drainMs: number;
}

/** Of requests to the HTTP ports of pods. */
export interface PodProxyLimits {
  /** Until the answer begins; 0: any time. */
  answerMs: number;
  /** The largest request body; 0: any. */
  bodyBytes: number;
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
  simulateGpus?: string;
  frozenMemory?: string;
  rateLimit?: string;
  catalog?: string;
  logLevel?: string;
  stopWorkers?: boolean;
  roles?: string;
  dataProcesses?: string;
}

/** Ten times what the public interface allows: here a user waits for their own machine only. */
const DEFAULT_QUOTAS: RateQuotas = { minute: 600, hour: 30_000, day: 500_000 };

/** Reads flags and environment. Throws a sentence that names the setting, its value and what is allowed. */
export function readConfig(flags: Flags, env: NodeJS.ProcessEnv): Config {
  const text = (flag: string | undefined, ...names: string[]): string | undefined =>
    flag ?? names.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  const seconds = (name: string, fallback: number) => integer(name, env[name], 0, 7 * 86_400, fallback) * 1000;
  const roles = new Set(
    (text(flags.roles, 'PODYARD_ROLES') ?? ROLES.join(','))
      .split(',')
      .map((role) => oneOf('--roles', role.trim(), ROLES)),
  );
  const dataDir = resolve(text(flags.dataDir, 'PODYARD_DATA_DIR') ?? '.podyard');
  return {
    port: integer('--port', text(flags.port, 'PODYARD_PORT'), 0, 65_535, 8080),
    host: text(flags.host, 'PODYARD_HOST') ?? '127.0.0.1',
    dataDir,
    databaseUrl: text(flags.databaseUrl, 'PODYARD_DATABASE_URL', 'DATABASE_URL') ?? null,
    publicUrl: url('--public-url', text(flags.publicUrl, 'PODYARD_PUBLIC_URL')),
    proxyHost: hostName('--proxy-host', text(flags.proxyHost, 'PODYARD_PROXY_HOST')),
    lbHost: hostName('--lb-host', text(flags.lbHost, 'PODYARD_LB_HOST')),
    tls: tlsFiles(text(flags.tlsCert, 'PODYARD_TLS_CERT'), text(flags.tlsKey, 'PODYARD_TLS_KEY')),
    trustedProxies: networks('--trusted-proxies', text(flags.trustedProxies, 'PODYARD_TRUSTED_PROXIES')),
    runtime: oneOf('--runtime', text(flags.runtime, 'PODYARD_RUNTIME') ?? 'auto', [
      'auto',
      'docker',
      'process',
      'kubernetes',
      'simulated',
    ]),
    simulateGpus: gpus(text(flags.simulateGpus, 'PODYARD_SIMULATE_GPUS')),
    frozenMemory: memory('--frozen-memory', text(flags.frozenMemory, 'PODYARD_FROZEN_MEMORY') ?? '25%'),
    logLevel: oneOf('--log-level', text(flags.logLevel, 'PODYARD_LOG_LEVEL') ?? 'info', [
      'debug',
      'info',
      'warn',
      'error',
    ]),
    rateLimit: rateLimit(text(flags.rateLimit, 'PODYARD_RATE_LIMIT')),
    masterKey: {
      keys: env.PODYARD_MASTER_KEY ? parseMasterKeys(env.PODYARD_MASTER_KEY, 'PODYARD_MASTER_KEY') : null,
      file: join(dataDir, 'master-key'),
    },
    catalogFile: file(text(flags.catalog, 'PODYARD_CATALOG')),
    adminKey: env.PODYARD_ADMIN_KEY || null,
    isGraphqlIntrospectable: env.PODYARD_GRAPHQL_INTROSPECTION !== 'false',
    allowPrivateWebhooks: env.PODYARD_ALLOW_PRIVATE_WEBHOOKS === 'true',
    stopWorkersOnExit: flags.stopWorkers ?? env.PODYARD_STOP_WORKERS === 'true',
    roles,
    dataProcesses: dataProcesses(text(flags.dataProcesses, 'PODYARD_DATA_PROCESSES'), roles),
    stopDelayMs: seconds('PODYARD_STOP_DELAY_SECONDS', 0),
    workerApiPort:
      env.PODYARD_WORKER_API_PORT === undefined
        ? null
        : integer('PODYARD_WORKER_API_PORT', env.PODYARD_WORKER_API_PORT, 0, 65_535, 0),
    publishIp: ipAddress('PODYARD_PUBLISH_IP', env.PODYARD_PUBLISH_IP, '127.0.0.1'),
    kubernetes: readKubernetesSettings(env),
    hostEnv: Object.fromEntries(
      ['PATH', 'HOME', 'LANG', 'TMPDIR'].flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
    ),
    imagesFiles: (env.PODYARD_IMAGES_FILES ?? '')
      .split(':')
      .filter(Boolean)
      .map((file) => resolve(file)),
    tracing: tracing(env),
    metrics: {
      token: env.PODYARD_METRICS_TOKEN || null,
      maxEndpoints: integer('PODYARD_METRICS_ENDPOINTS', env.PODYARD_METRICS_ENDPOINTS, 0, 10_000, 50),
    },
    limits: {
      runBodyBytes: integer('PODYARD_RUN_BODY_BYTES', env.PODYARD_RUN_BODY_BYTES, 1024, 2 ** 30, 10 * 2 ** 20),
      runsyncBodyBytes: integer(
        'PODYARD_RUNSYNC_BODY_BYTES',
        env.PODYARD_RUNSYNC_BODY_BYTES,
        1024,
        2 ** 30,
        20 * 2 ** 20,
      ),
      resultBytes: integer('PODYARD_RESULT_BYTES', env.PODYARD_RESULT_BYTES, 1024, 2 ** 30, 20 * 2 ** 20),
      resultRetentionMs: seconds('PODYARD_RESULT_RETENTION_SECONDS', 1800),
      syncResultRetentionMs: seconds('PODYARD_SYNC_RESULT_RETENTION_SECONDS', 300),
      logRetentionMs: seconds('PODYARD_LOG_RETENTION_SECONDS', 86_400),
      leaseMs: seconds('PODYARD_LEASE_SECONDS', 40),
      takeHoldMs: seconds('PODYARD_TAKE_HOLD_SECONDS', 30),
      graceMs: seconds('PODYARD_GRACE_SECONDS', 30),
    },
    loadBalancing: {
      holdMs: seconds('PODYARD_LB_HOLD_SECONDS', 120),
      maxHeld: integer('PODYARD_LB_HELD', env.PODYARD_LB_HELD, 0, 1_000_000, 1000),
      concurrency: integer('PODYARD_LB_CONCURRENCY', env.PODYARD_LB_CONCURRENCY, 1, 1_000_000, 1000),
      bodyBytes: integer('PODYARD_LB_BODY_BYTES', env.PODYARD_LB_BODY_BYTES, 0, 2 ** 53, 0),
      drainMs: seconds('PODYARD_LB_DRAIN_SECONDS', 300),
    },
    podProxy: {
      answerMs: seconds('PODYARD_PROXY_ANSWER_SECONDS', 600),
      bodyBytes: integer('PODYARD_PROXY_BODY_BYTES', env.PODYARD_PROXY_BODY_BYTES, 0, 2 ** 53, 0),
    },
  };
}

function dataProcesses(value: string | undefined, roles: ReadonlySet<Role>): number {
  const count = integer('--data-processes', value, 1, 64, 1);
  if (count > 1 && !roles.has('api') && !roles.has('data')) {
    throw new Error(`--data-processes is ${count}, but --roles leaves them nothing to serve: add api or data`);
  }
  return count;
}

function integer(name: string, value: string | undefined, min: number, max: number, fallback: number): number {
  if (value === undefined || value === '') return fallback;
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new Error(`${name} is '${value}', but must be a whole number from ${min} to ${max}`);
  }
  return number;
}

const MEMORY_UNITS = { B: 1, MB: 1e6, MIB: 2 ** 20, GB: 1e9, GIB: 2 ** 30 } as const;

function memory(name: string, value: string): { bytes: number } | { share: number } {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(%|[MG]i?B|B)?$/i.exec(value.trim()) ?? [];
  const isShare = unit === '%' && Number(number) <= 100;
  if (isShare) return { share: Number(number) / 100 };
  const factor = MEMORY_UNITS[(unit ?? 'B').toUpperCase() as keyof typeof MEMORY_UNITS];
  if (number === undefined || factor === undefined || (unit === undefined && number !== '0')) {
    throw new Error(`${name} is '${value}', but must be a size like 8GiB or 500MB, a share like 25%, or 0`);
  }
  return { bytes: Math.floor(Number(number) * factor) };
}

function rateLimit(value: string | undefined): RateQuotas | null {
  if (value === 'off') return null;
  return { ...DEFAULT_QUOTAS, ...(value === undefined ? {} : parseRateQuotas('--rate-limit', value)) };
}

/** OpenTelemetry's own variables, as its specification has them; what it does not know falls back to the default. */
function tracing(env: NodeJS.ProcessEnv): TracingSettings | null {
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (isOff || !(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)) return null;
  const [, parent, sampler] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(
    env.OTEL_TRACES_SAMPLER || 'parentbased_always_on',
  ) ?? [undefined, 'parentbased_', 'always_on'];
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1);
  return {
    sampler: sampler as TracingSettings['sampler'],
    isParentBased: parent !== undefined,
    ratio: ratio >= 0 && ratio <= 1 ? ratio : 1,
    delayMs: integer('OTEL_BSP_SCHEDULE_DELAY', env.OTEL_BSP_SCHEDULE_DELAY, 1, 3_600_000, 5_000),
    timeoutMs: integer(
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT || env.OTEL_EXPORTER_OTLP_TIMEOUT,
      1,
      60_000,
      3_000,
    ),
  };
}

function ipAddress(name: string, value: string | undefined, fallback: string): string {
  if (value === undefined || value === '') return fallback;
  if (isIP(value) === 0) throw new Error(`${name} is '${value}', but must be an IP address`);
  return value;
}

function oneOf<const T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const match = allowed.find((candidate) => candidate === value);
  if (match === undefined) throw new Error(`${name} is '${value}', but must be one of ${allowed.join(', ')}`);
  return match;
}

function url(name: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new Error(`${name} is '${value}', but must be an http or https URL`);
  }
  return value.replace(/\/+$/, '');
}

/** A name, perhaps with a port; in lower case. */
function hostName(name: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i.test(value)) {
    throw new Error(`${name} is '${value}', but must be a host name, e.g. pods.example.com, perhaps with a port`);
  }
  return value.toLowerCase();
}

function tlsFiles(certFile: string | undefined, keyFile: string | undefined): Config['tls'] {
  if (certFile === undefined && keyFile === undefined) return null;
  if (certFile === undefined || keyFile === undefined) throw new Error('--tls-cert and --tls-key belong together');
  return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
}

/** Addresses and networks with commas between, e.g. `10.0.0.0/8,::1`. */
function networks(name: string, value: string | undefined): string[] {
  const items = (value ?? '').split(',').flatMap((item) => item.trim() || []);
  for (const item of items) {
    const [address, prefix, ...more] = item.split('/');
    const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address!)]!;
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
    if (bits < 0 || !isPrefix || more.length > 0) {
      throw new Error(`${name} has '${item}', but takes addresses and networks, e.g. 127.0.0.1,10.0.0.0/8`);
    }
  }
  return items;
}

function file(value: string | undefined): string | null {
  return value === undefined ? null : resolve(value);
}

/** `off`, or `<pool>[@<data centre>][:<count>]`, separated by commas; the last of the same pool and data centre counts. */
function gpus(value: string | undefined): Config['simulateGpus'] {
  if (value === undefined) return null;
  if (value === 'off') return [];
  const pools = value
    .split(',')
    .filter(Boolean)
    .map((item) => {
      const [place = '', count] = item.split(':');
      const [pool = '', dataCenterId] = place.trim().split('@');
      if (pool === '') throw new Error(`--simulate-gpus has '${item}', but must be like ADA_24:4 or ADA_24@EU-RO-1:4`);
      const total = integer(`--simulate-gpus ${place}`, count, 0, 100_000, 1);
      return { pool, dataCenterId: dataCenterId || null, total };
    });
  return [...new Map(pools.map((entry) => [`${entry.pool}@${entry.dataCenterId}`, entry])).values()];
}
