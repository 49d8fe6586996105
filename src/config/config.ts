import { join } from 'node:path';
import type { MasterKeySource } from '../core/master-key.ts';
import { UsageError } from '../core/usage-error.ts';
import type { AuditSettings } from './audit-settings.ts';
import { type EgressSettings, egressOf } from './egress.ts';
import { type KubernetesSettings, readKubernetesSettings } from './kubernetes-settings.ts';
import type { TerminalLimits } from './limit-settings.ts';
import { readSettings } from './setting.ts';
import { type Flags, SETTINGS, type Values } from './settings.ts';
import { readTracingSettings, type TracingSettings } from './tracing-settings.ts';

export type { JobLimits, LoadBalancingLimits } from './limit-settings.ts';
export { type Flags, ROLES, type Role } from './settings.ts';

/** Everything that an operator can set: the values of `SETTINGS`, and what follows from several of them. */
export interface Config extends Omit<Values, 'tls' | 'masterKey' | 'egress' | 'kubernetes' | 'terminal'> {
  /** Null: plain HTTP. */
  tls: { certFile: string; keyFile: string } | null;
  masterKey: MasterKeySource;
  egress: EgressSettings;
  kubernetes: KubernetesSettings;
  /** Null: terminals are disabled. */
  terminal: TerminalLimits | null;
  /** Null: no traces. The exporter reads OpenTelemetry's other variables itself. */
  tracing: TracingSettings | null;
  /** The part of the environment that workers of the process runtime inherit: PATH, HOME, LANG, TMPDIR, LD_LIBRARY_PATH. */
  hostEnv: Readonly<Record<string, string>>;
  /** The same for builds of the process runtime: also where packages are fetched from. */
  buildEnv: Readonly<Record<string, string>>;
  /** Settings that are likely mistakes, one sentence each, without a period. They keep no server from starting. */
  warnings: readonly string[];
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;
const MIN_ADMIN_KEY_CHARACTERS = 16;
/** LD_LIBRARY_PATH: on some machines nothing else leads to the libraries of the GPUs' driver. */
const HOST_ENV = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'LD_LIBRARY_PATH'];
/** Mirrors, proxies and certificates, in the variables of pip, uv and npm. */
const BUILD_ENV = [
  ...['PATH', 'LANG', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'npm_config_registry', 'NPM_CONFIG_REGISTRY'],
  ...['PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'PIP_FIND_LINKS', 'PIP_CERT', 'UV_DEFAULT_INDEX', 'UV_INDEX'],
];

/** Reads flags and environment. Throws a sentence that names the setting, its value and what is allowed. */
export function readConfig(flags: Flags, env: NodeJS.ProcessEnv): Config {
  const values = readSettings(SETTINGS, flags, env);
  checkDataProcesses(values);
  checkAuditWebhook(values.audit);
  const tls = tlsOf(values.tls);
  return {
    ...values,
    tls,
    masterKey: { keys: values.masterKey, file: join(values.dataDir, 'master-key') },
    egress: egressOf(values.egress),
    kubernetes: readKubernetesSettings(env),
    terminal: values.terminal.isOn ? values.terminal.limits : null,
    tracing: readTracingSettings(env),
    hostEnv: pick(env, HOST_ENV),
    buildEnv: pick(env, BUILD_ENV),
    warnings: [...warnOfListener({ ...values, tls }), ...warnOfAdminKey(values)],
  };
}

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

function tlsOf({ certFile, keyFile }: Values['tls']): Config['tls'] {
  if (certFile === null && keyFile === null) return null;
  if (certFile === null || keyFile === null) {
    throw new UsageError('--tls-cert and --tls-key belong together: set both, or neither');
  }
  return { certFile, keyFile };
}

function checkDataProcesses({ dataProcesses, roles }: Values): void {
  if (dataProcesses === 1 || roles.has('api') || roles.has('data')) return;
  throw new UsageError(
    `--data-processes is ${dataProcesses}, but --roles leaves them nothing to serve: add api or data`,
  );
}

function checkAuditWebhook({ webhook, webhookSecret }: AuditSettings): void {
  if (webhook === null || webhookSecret !== null) return;
  throw new UsageError('--audit-webhook needs PODYARD_AUDIT_WEBHOOK_SECRET, which signs what is sent');
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
