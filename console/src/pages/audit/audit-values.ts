import type { Schemas } from '../../api/client.ts';
import { formatDate, NO_VALUE } from '../../ui/text/format.ts';
import type { StatusLook } from '../../ui/text/labels.ts';
import { browserOf } from '../keys/session-values.ts';

export type AuditEntry = Schemas['AuditEntry'];

export const OUTCOMES: Readonly<Record<AuditEntry['outcome'], StatusLook>> = {
  done: { label: 'Done', color: 'green' },
  refused: { label: 'Refused', color: 'yellow' },
  failed: { label: 'Failed', color: 'red' },
};

/** `endpoint.roll-back` as “Endpoint: roll back”. */
export function operationText(operation: string): string {
  const [record = '', verb = ''] = operation.split('.');
  return `${record.charAt(0).toUpperCase()}${record.slice(1)}: ${verb.replaceAll('-', ' ')}`;
}

/** The author of a change, with their key. */
export function actorText({ actorKind, actorName, actorId, keyName, keyId }: AuditEntry): string {
  if (actorKind === 'system') return 'Podyard';
  if (actorKind === 'unknown') return 'Unknown key';
  if (actorKind === 'operator') return 'The operator, on the server';
  const who = actorName ?? `${actorId} (deleted)`;
  return keyId === null ? who : `${who}, key ${keyName ?? keyId}`;
}

/** The record's name; of a session, the browser that it is of. */
export function recordText({ operation, recordName, recordId }: AuditEntry): string {
  if (recordName === null) return recordId ?? NO_VALUE;
  return operation.startsWith('session.') ? browserOf({ userAgent: recordName }) : recordName;
}

/** From where. */
export function originText({ interface: by, address }: AuditEntry): string {
  return address === null ? by : `${by}, ${address}`;
}

/** Describes the changes, a sentence each: “workers.max: 3 → 7”, “env: TOKEN changed”. */
export function changeTexts({ changes }: Pick<AuditEntry, 'changes'>): string[] {
  return Object.entries(changes ?? {}).flatMap(([field, [before, after]]) => changesOf(field, before, after));
}

function changesOf(field: string, before: unknown, after: unknown): string[] {
  if (isRecord(before) || isRecord(after)) {
    const [was, is] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}];
    return [...new Set([...Object.keys(was), ...Object.keys(is)])]
      .filter((name) => isHidden(was[name], is[name]) || JSON.stringify(was[name]) !== JSON.stringify(is[name]))
      .flatMap((name) => changesOf(`${field}.${name}`, was[name] ?? null, is[name] ?? null));
  }
  if (field === 'madeBy') return [`${after === null ? 'was ' : ''}signed in with ${wayText(after ?? before)}`];
  if (before === null) return [isHidden(after) ? `${field} set` : `${field}: ${valueText(after)}`];
  if (after === null) return [isHidden(before) ? `${field} removed` : `${field}: ${valueText(before)} → nothing`];
  return [isHidden(before, after) ? `${field} changed` : `${field}: ${valueText(before)} → ${valueText(after)}`];
}

const WAYS: Readonly<Partial<Record<string, string>>> = {
  KEY: 'an API key',
  OIDC: 'a provider',
  PASSWORD: 'a password',
  PASSKEY: 'a passkey',
  PROXY: 'the proxy in front of the server',
} satisfies Record<Schemas['Session']['madeBy'], string>;

/** How a session was made. */
function wayText(value: unknown): string {
  return WAYS[String(value)] ?? valueText(value);
}

/** The server shows no value of a secret, a credential or `env`. */
function isHidden(...values: unknown[]): boolean {
  return values.every((value) => value === '***');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As PostgreSQL writes a time in JSON. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ');
  if (value === '') return 'empty';
  if (typeof value !== 'string') return JSON.stringify(value);
  return TIME.test(value) ? formatDate(value) : value;
}

/** The page's filters, as its URL has them. */
export interface AuditFilters {
  operation: string;
  recordId: string;
  /** The author's id. */
  actorId: string;
  outcome: string;
  days: string;
  /** Only of one's own records. */
  own: string;
}

export const PERIODS = [
  { value: '1', label: 'Last 24 hours' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
];

const DAY_MS = 86_400_000;

/** Returns the query of the API; `now` in ms. Empty filters are left out. */
export function auditQuery(filters: AuditFilters, isAdmin: boolean, now: number) {
  const { operation, recordId, actorId, outcome, days, own } = filters;
  const since = days === '' ? '' : new Date(Math.floor(now / 60_000) * 60_000 - Number(days) * DAY_MS).toISOString();
  const all = {
    operation: operation.trim(),
    recordId: recordId.trim(),
    actorId: actorId.trim(),
    outcome,
    since,
    userId: isAdmin && own === '' ? 'all' : '',
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')) as {
    operation?: string;
    recordId?: string;
    actorId?: string;
    outcome?: AuditEntry['outcome'];
    since?: string;
    userId?: string;
  };
}
