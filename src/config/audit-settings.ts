import { UsageError } from '../core/usage-error.ts';
import { optional, seconds, setting, type ValuesOf } from './setting.ts';

const DAY_SECONDS = 86_400;
const MIN_SECRET_CHARACTERS = 16;

/** The audit log: how long it is kept, and where it goes besides. */
export const AUDIT = {
  retentionMs: seconds({
    variable: 'PODYARD_AUDIT_RETENTION_SECONDS',
    flag: 'auditRetentionSeconds',
    takes: '<number>',
    default: 400 * DAY_SECONDS,
    max: 3_650 * DAY_SECONDS,
    page: 'How long entries of the [audit log](guide/audit.md) are kept; 34560000 are 400 days',
    help: 'how long entries of the audit log are kept',
  }),
  webhook: optional({
    variable: 'PODYARD_AUDIT_WEBHOOK',
    flag: 'auditWebhook',
    takes: '<url>',
    shownDefault: 'none',
    parse: parseUrl,
    page: 'Where every entry of the audit log is [sent](guide/audit.md#send-entries-elsewhere), signed with `PODYARD_AUDIT_WEBHOOK_SECRET`',
    help: 'where every entry of the audit log is sent, signed with PODYARD_AUDIT_WEBHOOK_SECRET',
  }),
  /** Never logged. */
  webhookSecret: optional({
    variable: 'PODYARD_AUDIT_WEBHOOK_SECRET',
    shownDefault: 'none',
    parse: parseSecret,
    page: 'Signs what is sent there; at least 16 characters',
  }),
  /** Null: not sent to syslog. */
  syslog: optional({
    variable: 'PODYARD_AUDIT_SYSLOG',
    flag: 'auditSyslog',
    takes: '<url>',
    shownDefault: 'none',
    parse: parseSyslog,
    page: 'The syslog server that every entry of the audit log is [sent](guide/audit.md#send-entries-elsewhere) to: `tls://`, `tcp://` or `udp://`',
    help: 'the syslog server that every entry of the audit log is sent to: tls://, tcp:// or udp://',
  }),
  otlp: optional({
    variable: 'PODYARD_AUDIT_OTLP',
    flag: 'auditOtlp',
    takes: '<url>',
    shownDefault: 'none',
    parse: parseUrl,
    page: 'The collector that every entry of the audit log is [sent](guide/audit.md#send-entries-elsewhere) to as OTLP, such as `http://collector:4318/v1/logs`',
    help: 'the collector that every entry of the audit log is sent to as OTLP, e.g. http://collector:4318/v1/logs',
  }),
  /** Never logged. */
  otlpHeaders: setting({
    variable: 'PODYARD_AUDIT_OTLP_HEADERS',
    default: '',
    shownDefault: 'none',
    parse: parseHeaders,
    page: 'Headers for the collector: `authorization=Bearer …,x-tenant=a`',
  }),
};

export type AuditSettings = ValuesOf<typeof AUDIT>;

function parseUrl(name: string, text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new UsageError(`${name} must be an http or https URL`);
}

const SYSLOG_PORTS = { tls: 6_514, tcp: 601, udp: 514 };
type SyslogScheme = keyof typeof SYSLOG_PORTS;

function parseSyslog(name: string, text: string): { transport: 'TCP' | 'TLS' | 'UDP'; host: string; port: number } {
  const [, scheme, bracketed, plain, port] =
    /^(tls|tcp|udp):\/\/(?:\[([0-9a-fA-F:]+)\]|([^:/@?#[\]]+))(?::(\d{1,5}))?\/?$/.exec(text) ?? [];
  const number = port === undefined ? SYSLOG_PORTS[scheme as SyslogScheme] : Number(port);
  if (scheme === undefined || number < 1 || number > 65_535) {
    throw new UsageError(`${name} must be a URL such as tls://syslog.example.com:6514, tcp://… or udp://…`);
  }
  return { transport: scheme.toUpperCase() as 'TCP' | 'TLS' | 'UDP', host: bracketed ?? plain!, port: number };
}

/** Never quotes a value. */
function parseHeaders(name: string, text = ''): Readonly<Record<string, string>> {
  const pairs = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = /^([\w-]+)=([\u0020-\u007e]+)$/.exec(pair) ?? [];
      if (key === undefined) throw new UsageError(`${name} must be headers such as authorization=Bearer …,x-tenant=a`);
      return [key, value!];
    }),
  );
}

function parseSecret(name: string, text: string): string {
  if (text.length >= MIN_SECRET_CHARACTERS) return text;
  throw new UsageError(`${name} must have at least ${MIN_SECRET_CHARACTERS} characters`);
}
