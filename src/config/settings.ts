import { resolve } from 'node:path';
import { parseMasterKeys } from '../core/master-key.ts';
import { formatRateQuotas, parseRateQuotas, type RateQuotas } from '../core/rate-quotas.ts';
import { REST_REVISIONS } from '../core/rest-revisions.ts';
import { escapeUnit } from '../core/text/ascii-json.ts';
import { UsageError } from '../core/usage-error.ts';
import { AUDIT } from './audit-settings.ts';
import { BUILDS } from './build-settings.ts';
import { KUBERNETES } from './kubernetes-settings.ts';
import { JOB_LIMITS, LOAD_BALANCING_LIMITS, POD_PROXY_LIMITS, TERMINAL_LIMITS } from './limit-settings.ts';
import { MODELS } from './model-settings.ts';
import { NOTICES } from './notice-settings.ts';
import { parseHostName, parseInteger, parseNetworks, parseOneOf, parseUrl } from './parse-setting.ts';
import { asGiven, integer, oneOf, onOff, optional, seconds, setting, type ValuesOf } from './setting.ts';
import { SIGN_IN } from './sign-in-settings.ts';
import { USER } from './user-setting.ts';
import { WORKLOADS } from './workload-settings.ts';

export const ROLES = ['api', 'data', 'control'] as const;
export type Role = (typeof ROLES)[number];

/** Ten times the public API's quotas: here a user only loads their own machine. */
const DEFAULT_QUOTAS: RateQuotas = { minute: 600, hour: 30_000, day: 500_000 };

const inFolder = (_name: string, text: string) => resolve(text);

/** PostgreSQL keeps the path in a file of lines, by which its running server is found again. */
function dataFolder(name: string, text: string): string {
  const path = resolve(text);
  const shown = path.replace(/\p{Cc}/gu, escapeUnit);
  if (shown === path) return path;
  throw new UsageError(`${name} is '${shown}', but must have no line breaks or other control characters`);
}

/** Settings that name an installation's data. */
export const DATABASE_SETTINGS = {
  dataDir: setting({
    variable: 'PODYARD_DATA_DIR',
    flag: 'dataDir',
    takes: '<path>',
    default: '.podyard',
    shownDefault: './.podyard',
    parse: dataFolder,
    page: 'Directory of the embedded database and all other data',
  }),
  /** Null: the embedded server in `dataDir`. */
  databaseUrl: optional({
    variable: 'PODYARD_DATABASE_URL',
    fallbackVariable: 'DATABASE_URL',
    flag: 'databaseUrl',
    takes: '<url>',
    shownDefault: 'the embedded one',
    parse: asGiven,
    page: 'Your own PostgreSQL, version 15 or later',
    help: 'a PostgreSQL server to use',
  }),
};

const LISTENER = {
  port: integer({
    variable: 'PODYARD_PORT',
    flag: 'port',
    takes: '<number>',
    default: 8080,
    min: 0,
    max: 65_535,
    page: 'Port of the API; 0: any free port',
    help: 'port to listen on; 0: any free port',
  }),
  host: setting({
    variable: 'PODYARD_HOST',
    flag: 'host',
    takes: '<address>',
    default: '127.0.0.1',
    parse: asGiven,
    page: 'Address it listens on',
    help: 'address to listen on',
  }),
  /** Null: `http://host:port`; on a wildcard address, the request's Host. */
  publicUrl: optional({
    variable: 'PODYARD_PUBLIC_URL',
    flag: 'publicUrl',
    takes: '<url>',
    shownDefault: 'http://<host>:<port>',
    parse: parseUrl,
    page: 'URL at which clients reach the API',
    chart: { value: 'publicUrl', as: 'template' },
  }),
  /** May include the port to show in URLs. */
  proxyHost: optional({
    variable: 'PODYARD_PROXY_HOST',
    flag: 'proxyHost',
    takes: '<name>',
    shownDefault: 'localhost',
    parse: parseHostName,
    page: 'Pods answer at `<pod id>-<port>.<name>`',
    help: 'pods answer at <pod id>-<port>.<name>',
    chart: { value: 'podsHost', as: 'text' },
  }),
  /** May include a port. */
  lbHost: optional({
    variable: 'PODYARD_LB_HOST',
    flag: 'lbHost',
    takes: '<name>',
    shownDefault: 'localhost',
    parse: parseHostName,
    page: 'Load-balancing endpoints answer at `<endpoint id>.<name>`',
    help: 'load-balancing endpoints answer at <endpoint id>.<name>',
    chart: { value: 'lbHost', as: 'text' },
  }),
  tls: {
    certFile: optional({
      variable: 'PODYARD_TLS_CERT',
      flag: 'tlsCert',
      takes: '<file>',
      shownDefault: 'none',
      parse: inFolder,
      page: 'Certificate chain (PEM) for HTTPS; a renewed file is picked up at once',
      chart: { value: 'tlsSecret', as: 'template' },
    }),
    keyFile: optional({
      variable: 'PODYARD_TLS_KEY',
      flag: 'tlsKey',
      takes: '<file>',
      shownDefault: 'none',
      parse: inFolder,
      page: "The certificate's key (PEM)",
      chart: { value: 'tlsSecret', as: 'template' },
    }),
  },
  trustedProxies: setting({
    variable: 'PODYARD_TRUSTED_PROXIES',
    flag: 'trustedProxies',
    takes: '<networks>',
    default: '',
    shownDefault: 'none',
    parse: parseNetworks,
    page: 'Proxies whose `X-Forwarded-*` headers are trusted: `10.0.0.0/8,::1`',
    help: 'proxies whose X-Forwarded-* headers are trusted, e.g. 10.0.0.0/8,::1',
    chart: { value: 'trustedProxies', as: 'list' },
  }),
};

const ACCESS = {
  signIn: SIGN_IN,
  isRestV1On: onOff({
    variable: 'PODYARD_REST_V1',
    flag: 'restV1',
    default: false,
    page: 'Also serves [REST v1](interface/rest-v1.md), for old clients',
    help: 'also serve REST v1, for old clients',
  }),
  terminal: {
    isOn: onOff({
      variable: 'PODYARD_TERMINAL',
      flag: 'terminal',
      default: true,
      page: 'Nobody runs programs in workers and pods: no [terminals](interface/terminals.md)',
      help: 'nobody runs programs in workers and pods: no terminals, exec and cp',
    }),
    limits: TERMINAL_LIMITS,
  },
  /** API requests per user and window; null: unlimited. A user's own quotas override it. */
  rateLimit: setting({
    variable: 'PODYARD_RATE_LIMIT',
    flag: 'rateLimit',
    takes: '<quotas>',
    default: formatRateQuotas(DEFAULT_QUOTAS),
    shownDefault: Object.values(DEFAULT_QUOTAS).join(', '),
    parse: rateLimit,
    page: 'REST and GraphQL requests per user: `minute=…,hour=…,day=…`, or `off`',
    help: 'API requests per user, e.g. minute=60,hour=3000,day=50000, or off',
  }),
  restRevision: oneOf({
    variable: 'PODYARD_REST_REVISION',
    flag: 'restRevision',
    takes: '<name>',
    default: REST_REVISIONS[0],
    values: REST_REVISIONS,
    page: 'What plain `/v2` speaks: see [revisions](interface/revision-2026-08.md)',
    help: `what plain /v2 speaks: ${REST_REVISIONS.join(' or ')}`,
  }),
  isGraphqlIntrospectable: onOff({
    variable: 'PODYARD_GRAPHQL_INTROSPECTION',
    default: true,
    page: '`false`: `/graphql` allows no introspection',
  }),
  /** Encrypts the secrets in the database; null: in a file in `dataDir` that the first start creates. Never logged. */
  masterKey: optional({
    variable: 'PODYARD_MASTER_KEY',
    shownDefault: '<data-dir>/master-key',
    parse: (name, text) => parseMasterKeys(text, name),
    page: 'Encrypts secrets in the database: 32 bytes, base64 or hex',
    chart: { value: 'keys.masterKey', as: 'template' },
  }),
  /** Null: generated and shown once. Never logged. */
  adminKey: optional({
    variable: 'PODYARD_ADMIN_KEY',
    shownDefault: 'generated',
    parse: asGiven,
    page: 'API key of the first user',
    chart: { value: 'keys.adminKey', as: 'template' },
  }),
  metrics: {
    /** Never logged. */
    token: optional({
      variable: 'PODYARD_METRICS_TOKEN',
      shownDefault: 'none',
      parse: asGiven,
      page: "Bearer token for `/metrics`; otherwise only an admin's key opens it",
      chart: { value: 'keys.metricsToken', as: 'template' },
    }),
    maxEndpoints: integer({
      variable: 'PODYARD_METRICS_ENDPOINTS',
      default: 50,
      min: 0,
      max: 10_000,
      page: 'Endpoints with their own series in `/metrics`; the others are counted together',
    }),
  },
};

const PROCESSES = {
  /** Null: those that come with Podyard. */
  recipesFile: optional({
    variable: 'PODYARD_RECIPES',
    flag: 'recipes',
    takes: '<file>',
    shownDefault: 'those that come with Podyard',
    parse: inFolder,
    page: 'How [models become endpoints](guide/models.md#serve-a-model): images, arguments and memory, which `podyard deploy hf:…` and the console go by',
    help: 'how models become endpoints: images, arguments, memory',
  }),
  catalogFile: optional({
    variable: 'PODYARD_CATALOG',
    flag: 'catalog',
    takes: '<file>',
    shownDefault: 'the built-in one',
    parse: inFolder,
    page: 'Your own GPU types, CPU flavors, data centers and templates: see [catalog](catalog.md)',
    help: 'GPU types, CPU flavors, data centers and templates that replace or extend the built-in ones',
    chart: { value: 'catalog', as: 'template' },
  }),
  /** Models are read and fetched from it. */
  hubUrl: setting({
    variable: 'PODYARD_HUB_URL',
    flag: 'hubUrl',
    takes: '<url>',
    default: 'https://huggingface.co',
    shownDefault: 'huggingface.co',
    parse: parseUrl,
    page: 'The hub that [models](guide/models.md) come from: a mirror of huggingface.co, for example',
    help: 'the hub that models come from',
  }),
  logLevel: oneOf({
    variable: 'PODYARD_LOG_LEVEL',
    flag: 'logLevel',
    takes: '<level>',
    default: 'info',
    values: ['debug', 'info', 'warn', 'error'],
    page: 'debug, info, warn, error; JSON lines on stderr',
    help: 'debug, info, warn or error',
  }),
  limits: JOB_LIMITS,
  loadBalancing: LOAD_BALANCING_LIMITS,
  podProxy: POD_PROXY_LIMITS,
  audit: AUDIT,
  notices: NOTICES,
  builds: BUILDS,
  models: MODELS,
  stopWorkersOnExit: onOff({
    variable: 'PODYARD_STOP_WORKERS',
    flag: 'stopWorkers',
    default: false,
    page: 'Stop workers at shutdown instead of leaving them to the next start',
  }),
  /** Any number of processes may serve `api` and `data`; one of those with `control` leads. */
  roles: setting({
    variable: 'PODYARD_ROLES',
    flag: 'roles',
    takes: '<roles>',
    default: ROLES.join(','),
    shownDefault: 'all',
    parse: (name, text): ReadonlySet<Role> =>
      new Set(text.split(',').map((role) => parseOneOf(name, role.trim(), ROLES))),
    page: `What this process does: ${ROLES.join(',')}: see [many processes](operations.md#many-processes)`,
    help: `what this process does: ${ROLES.join(',')}`,
  }),
  /** Processes that serve `api` and `data`. Above 1, this process serves neither but starts them. */
  dataProcesses: integer({
    variable: 'PODYARD_DATA_PROCESSES',
    flag: 'dataProcesses',
    takes: '<number>',
    default: 1,
    min: 1,
    max: 64,
    page: 'Processes that share the port, for machines with many cores',
  }),
  /** Null: chosen at the first start and kept. */
  workerApiPort: optional({
    variable: 'PODYARD_WORKER_API_PORT',
    shownDefault: 'chosen at first start',
    parse: (name, text) => parseInteger(name, text, { min: 0, max: 65_535, fallback: 0 }),
    page: 'Port of the worker API',
    chart: { value: 'workerApi.port', as: 'template' },
  }),
  stopDelayMs: seconds({
    variable: 'PODYARD_STOP_DELAY_SECONDS',
    default: 0,
    page: 'How long to keep serving after SIGTERM, not ready, so that load balancers notice',
    chart: { value: 'server.stopDelaySeconds', as: 'template' },
  }),
  stopGraceMs: seconds({
    variable: 'PODYARD_STOP_GRACE_SECONDS',
    default: 0,
    page: 'After that, how long `runsync` and `status-sync` may still wait for their jobs',
  }),
};

/** Every setting of a server (docs/configuration.md), in the order of `--help`. */
export const SETTINGS = {
  ...DATABASE_SETTINGS,
  ...LISTENER,
  ...WORKLOADS,
  ...ACCESS,
  ...PROCESSES,
  user: USER,
  kubernetes: KUBERNETES,
};

/** The settings of any one table, those in its tables included. */
type SettingsIn<Table> = Table extends { parse: unknown }
  ? Table
  : { [K in keyof Table]: SettingsIn<Table[K]> }[keyof Table];

/** The flags of a server, as the parser of the command line passes them. */
export type Flags = {
  [S in Extract<SettingsIn<typeof SETTINGS>, { flag?: string }> as NonNullable<S['flag']>]?: S extends {
    parse: (name: string, given: string | undefined) => boolean;
  }
    ? boolean
    : string;
};

export type Values = ValuesOf<typeof SETTINGS>;

function rateLimit(name: string, text: string): RateQuotas | null {
  if (text === 'off') return null;
  return { ...DEFAULT_QUOTAS, ...parseRateQuotas(name, text) };
}
