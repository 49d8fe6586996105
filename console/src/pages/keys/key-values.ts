import type { Schemas } from '../../api/client.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';
import { formatCount, formatDate } from '../../ui/text/format.ts';
import type { StatusLook } from '../../ui/text/labels.ts';
import { visibleText } from '../../ui/text/visible-text.ts';

const DAY_MS = 86_400_000;
const UNUSED_DAYS = 90;

export type ApiKey = Schemas['ApiKey'];

/** Choices for the lifetime of a key, in days; empty for a key that does not expire. */
export const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '1', label: 'In 1 day' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
];

/** Choices for what plain `/v2` speaks to a key; empty for what the server is set to. */
export const REVISIONS = [
  { value: '', label: "The server's" },
  { value: '2026-07', label: '2026-07' },
  { value: '2026-08', label: '2026-08' },
];

export const NEW_KEY = { name: '', scopes: ['all'], days: '90', revision: '' };

/** Scopes for what most keys are made for. */
export const PRESETS: readonly { label: string; scopes: string[] }[] = [
  { label: 'Invoke only', scopes: ['invoke'] },
  { label: 'Read only', scopes: ['read-only'] },
  {
    label: 'Deploy from CI',
    scopes: ['serverless:write', 'builds:write', 'templates:read', 'registries:read', 'account:read'],
  },
  { label: 'Everything', scopes: ['all'] },
];

export function newKeyBody(values: typeof NEW_KEY, nowMs: number): Schemas['CreateApiKeyRequest'] {
  const { name, scopes, days, revision } = values;
  const expiresAt = days === '' ? null : new Date(nowMs + Number(days) * DAY_MS).toISOString();
  return { name, scopes, expiresAt, ...(revision !== '' && { restRevision: revision as '2026-08' }) };
}

/** In the order of the list. */
export const KEY_STATES = {
  EXPIRED: { label: 'Expired', color: 'red' },
  DISABLED: { label: 'Disabled', color: 'gray' },
  UNUSED: { label: 'Not used', color: 'orange' },
  ACTIVE: { label: 'Active', color: 'green' },
} as const satisfies Record<string, StatusLook>;

export function keyState({ createdAt, expiresAt, lastUsedAt, disabled }: ApiKey, nowMs: number): KeyState {
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs) return 'EXPIRED';
  if (disabled) return 'DISABLED';
  return nowMs - Date.parse(lastUsedAt ?? createdAt) >= UNUSED_DAYS * DAY_MS ? 'UNUSED' : 'ACTIVE';
}

type KeyState = keyof typeof KEY_STATES;

/** Returns what an owner should look at: keys that live for ever, or are not needed any more. */
export function warningsOf(key: ApiKey, nowMs: number): string[] {
  const state = keyState(key, nowMs);
  if (state === 'EXPIRED' || state === 'DISABLED') return [];
  return [
    ...(key.expiresAt === null ? ['Never expires'] : []),
    ...(state === 'UNUSED' ? [`No use in ${UNUSED_DAYS} days`] : []),
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

/** A scope that a key can have (docs/interface/rest.md, "Authentication"). */
export interface ScopeChoice {
  value: string;
  label: string;
  /** A key with this scope may do this. */
  allows: string;
}

interface Named {
  id: string;
  name: string;
}

/** The records that a scope can be restricted to. */
export interface ScopeRecords {
  endpoints: readonly Named[];
  pods: readonly Named[];
  templates: readonly Named[];
  volumes: readonly Named[];
  registries: readonly Named[];
}

const choice = (value: string, allows: string, label = value): ScopeChoice => ({ value, label, allows });

const GENERAL = [
  choice('all', 'Everything except exec and files'),
  choice('read-only', 'Read everything, change nothing'),
  choice('invoke', 'Send jobs and requests to every endpoint'),
  choice('exec', 'Open terminals and run programs in every pod and worker'),
];

/** The descriptions of `read` and `write` for each area. */
const AREAS: Readonly<Record<string, readonly [read: string, write: string]>> = {
  serverless: [
    'Read endpoints, their jobs, workers, releases and logs',
    'Create, change and delete endpoints; no jobs: see invoke',
  ],
  pods: ['Read pods, clusters and their logs', 'Create, start, stop and terminate pods and clusters'],
  builds: ['Read builds and their logs', 'Send files, build images, cancel builds'],
  templates: ['Read templates', 'Create, change and delete templates'],
  'network-volumes': ['Read network volumes', 'Create, grow and delete network volumes, with their data'],
  registries: [
    'Read registry credentials, and use them in endpoints and pods',
    'Create and delete registry credentials',
  ],
  catalog: ['Read GPUs, CPUs, data centers and prices', 'The same as reading: a catalog has nothing to change'],
  files: ['Read the files of network volumes', 'Read, write and delete the files of network volumes'],
  billing: ['Read costs, forecasts and budgets', 'Set and delete budgets'],
  account: [
    'Read API keys, SSH keys and limits; use secrets in endpoints and pods',
    'Create and revoke API keys, set secrets and SSH keys',
  ],
  users: ['For admins: read users and their limits', 'For admins: make, change, suspend and delete users'],
};

/** Returns the scopes that a key can be given, in groups, those of single records last. */
export function scopeGroups(records: Partial<ScopeRecords>): { group: string; items: ScopeChoice[] }[] {
  const { endpoints = [], pods = [], templates = [], volumes = [], registries = [] } = records;
  return [
    { group: 'General', items: [...GENERAL] },
    {
      group: 'One area',
      items: Object.entries(AREAS).flatMap(([area, [read, write]]) => [
        choice(`${area}:read`, read),
        choice(`${area}:write`, `${write}. Includes reading`),
      ]),
    },
    {
      group: 'One endpoint',
      items: endpoints.flatMap((endpoint) => [
        ofRecord('invoke', endpoint, 'Send jobs and requests to it'),
        ...ofArea('serverless', endpoint),
        ofRecord('exec', endpoint, 'Open terminals in its workers'),
      ]),
    },
    {
      group: 'One pod',
      items: pods.flatMap((pod) => [...ofArea('pods', pod), ofRecord('exec', pod, 'Open terminals in it')]),
    },
    { group: 'One template', items: templates.flatMap((template) => ofArea('templates', template)) },
    {
      group: 'One network volume',
      items: volumes.flatMap((volume) => [
        ...ofArea('network-volumes', volume),
        ofRecord('files', volume, 'Read its files', ':read'),
        ofRecord('files', volume, 'Read, write and delete its files', ':write'),
      ]),
    },
    { group: 'One registry', items: registries.flatMap((registry) => ofArea('registries', registry)) },
  ].filter(({ items }) => items.length > 0);
}

/** Returns the scopes of all groups by their value. */
export function scopeChoices(groups: ReturnType<typeof scopeGroups>): ReadonlyMap<string, ScopeChoice> {
  return new Map(groups.flatMap(({ items }) => items.map((item) => [item.value, item] as const)));
}

/** Returns what a key may do, and how long. */
export function keySummary(
  { scopes, days }: typeof NEW_KEY,
  records: Partial<ScopeRecords>,
  nowMs: number,
): SummaryText {
  const choices = scopeChoices(scopeGroups(records));
  const named = scopes.map((scope) => {
    const known = choices.get(scope);
    if (!known) return scope;
    return scope.includes('/') ? `${known.label}: ${known.allows}` : known.allows;
  });
  const more = named.length - MAX_NAMED;
  return {
    facts: [
      { label: 'May', value: named.slice(0, MAX_NAMED).join('; ') || 'nothing yet' },
      ...(more > 0 ? [{ label: 'And', value: formatCount(more, 'more scope') }] : []),
      {
        label: 'Ends',
        value: days === '' ? 'never' : formatDate(new Date(nowMs + Number(days) * DAY_MS).toISOString()),
      },
      { label: 'Shown', value: 'once, when it is created' },
    ],
    warning: days === '' ? 'It works until somebody deletes it.' : null,
  };
}

/** A summary names so many scopes. */
const MAX_NAMED = 4;

function ofArea(area: string, record: Named): ScopeChoice[] {
  return [ofRecord(area, record, 'Read it', ':read'), ofRecord(area, record, 'Read, change and delete it', ':write')];
}

/** Labelled with the record's name, which people know; its value has the id. */
function ofRecord(what: string, { id, name }: Named, allows: string, access = ''): ScopeChoice {
  return choice(`${what}/${id}${access}`, allows, `${visibleText(name)} · ${what}${access}`);
}

/** True if a scope opens terminals. */
export function hasExec(scopes: readonly string[]): boolean {
  return scopes.some((scope) => scope === 'exec' || scope.startsWith('exec/'));
}
