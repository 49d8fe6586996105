import type { Schemas } from '../../api/client.ts';

const DAY_MS = 86_400_000;
const UNUSED_DAYS = 90;

export type ApiKey = Schemas['ApiKey'];

/** Choices for the lifetime of a key, in days; empty for a key that does not expire. */
export const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '1', label: 'In 1 day' },
  { value: '30', label: 'In 30 days' },
  { value: '365', label: 'In 1 year' },
];

/** Choices for what plain `/v2` speaks to a key; empty for what the server is set to. */
export const REVISIONS = [
  { value: '', label: "The server's" },
  { value: '2026-07', label: '2026-07' },
  { value: '2026-08', label: '2026-08' },
];

export const NEW_KEY = { name: '', scopes: ['all'], days: '', revision: '' };

export function newKeyBody(values: typeof NEW_KEY, nowMs: number): Schemas['CreateApiKeyRequest'] {
  const { name, scopes, days, revision } = values;
  const expiresAt = days === '' ? null : new Date(nowMs + Number(days) * DAY_MS).toISOString();
  return { name, scopes, expiresAt, ...(revision !== '' && { restRevision: revision as '2026-08' }) };
}

/** Returns what an owner should look at: keys that have expired, live for ever, or are not needed any more. */
export function warningsOf({ createdAt, expiresAt, lastUsedAt }: ApiKey, nowMs: number): string[] {
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs) return ['Expired'];
  const unusedMs = nowMs - Date.parse(lastUsedAt ?? createdAt);
  return [
    ...(expiresAt === null ? ['Never expires'] : []),
    ...(unusedMs >= UNUSED_DAYS * DAY_MS ? [`No use in ${UNUSED_DAYS} days`] : []),
  ];
}

/** `admin (key deploy)`; null for a key that was made on the server. */
export function makerText({ createdBy }: ApiKey): string | null {
  if (createdBy === null) return null;
  const user = createdBy.userName ?? 'A deleted user';
  return createdBy.keyName === null ? user : `${user} (key ${createdBy.keyName})`;
}

/** The lines of a text that are not empty. */
export function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
