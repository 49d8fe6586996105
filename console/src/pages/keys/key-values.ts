import type { Schemas } from '../../api/client.ts';

const DAY_MS = 86_400_000;
const AREAS = ['serverless', 'pods', 'templates', 'network-volumes', 'registries', 'catalog', 'billing', 'account'];

/** Scopes that the form suggests; others, such as those of one record, can be typed. */
export const SUGGESTED_SCOPES = [
  'all',
  'read-only',
  'invoke',
  ...AREAS.flatMap((area) => [`${area}:read`, `${area}:write`]),
];

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

/** The lines of a text that are not empty. */
export function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
