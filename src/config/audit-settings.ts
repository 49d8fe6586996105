import { UsageError } from '../core/usage-error.ts';
import { optional, seconds, type ValuesOf } from './setting.ts';

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
};

export type AuditSettings = ValuesOf<typeof AUDIT>;

function parseUrl(name: string, text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new UsageError(`${name} must be an http or https URL`);
}

function parseSecret(name: string, text: string): string {
  if (text.length >= MIN_SECRET_CHARACTERS) return text;
  throw new UsageError(`${name} must have at least ${MIN_SECRET_CHARACTERS} characters`);
}
