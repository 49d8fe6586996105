import type { Schemas } from '../../api/client.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';
import type { StatusLook } from '../../ui/text/labels.ts';

export type User = Schemas['UserAccount'];
type Counts = Record<string, number>;

export type UserState = 'ACTIVE' | 'SUSPENDED' | 'BEING_DELETED';

export function stateOf({ suspension, removal }: User): UserState {
  if (removal) return 'BEING_DELETED';
  return suspension ? 'SUSPENDED' : 'ACTIVE';
}

export const ROLES: { value: User['role']; label: string }[] = [
  { value: 'USER', label: 'User' },
  { value: 'BILLING', label: 'Billing' },
  { value: 'AUDITOR', label: 'Auditor' },
  { value: 'ADMIN', label: 'Admin' },
];

export function roleText(role: User['role']): string {
  return ROLES.find(({ value }) => value === role)!.label;
}

/** In the order of the list. */
export const USER_STATES = {
  BEING_DELETED: { label: 'Being deleted', color: 'red' },
  SUSPENDED: { label: 'Suspended', color: 'orange' },
  ACTIVE: { label: 'Active', color: 'green' },
} as const satisfies Record<UserState, StatusLook>;

const SINGULAR: Record<string, string> = { registries: 'registry' };

/** `2 endpoints, 1 pod and 3 secrets`; null if there is nothing. */
export function countsText(counts: Counts): string | null {
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${count === 1 ? (SINGULAR[name] ?? name.slice(0, -1)) : name}`);
  if (parts.length < 2) return parts[0] ?? null;
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** The form's choices of what a suspension does to running workloads. */
export const WORKLOADS = [
  { value: 'KEEP', label: 'Keep what runs' },
  { value: 'STOP', label: 'Scale endpoints to zero and stop pods' },
];

export const NEW_USER = { name: '', email: '', role: 'USER' };

export function newUserBody({ name, email, role }: typeof NEW_USER): Schemas['CreateUserRequest'] {
  return { name: name.trim(), email: email.trim() || null, role: role as User['role'] };
}

const ROLE_MEANINGS: Record<User['role'], string> = {
  USER: 'use their own endpoints, pods, keys and limits',
  BILLING: 'use their own, and read the costs of all',
  AUDITOR: 'use their own, and read what all have, without secrets',
  ADMIN: 'use their own, and manage users and the installation',
};

/** Returns what a new user may do and gets. */
export function userSummary({ role }: typeof NEW_USER): SummaryText {
  return {
    facts: [
      { label: 'May', value: ROLE_MEANINGS[role as User['role']] },
      { label: 'Limits', value: 'the defaults of the installation' },
      { label: 'Gets', value: 'a first key, which is shown once' },
    ],
  };
}

export const RATE_WINDOWS = ['minute', 'hour', 'day'] as const;
export type RateForm = Record<(typeof RATE_WINDOWS)[number], string> & { exempt: boolean };

export function rateForm(limit: Schemas['UserRateLimit']): RateForm {
  const text = (value: number | null) => (value === null ? '' : String(value));
  return { exempt: limit.exempt, minute: text(limit.minute), hour: text(limit.hour), day: text(limit.day) };
}

/** Errors are `/minute: must be a whole number`, as the server's. */
export function rateBody(form: RateForm): { body: Schemas['UserRateLimit']; errors: string[] } {
  const errors: string[] = [];
  const read = (name: (typeof RATE_WINDOWS)[number]) => {
    const text = form[name].trim();
    if (text === '') return null;
    if (!/^[1-9]\d{0,8}$/.test(text)) errors.push(`/${name}: must be a whole number from 1`);
    return Number(text);
  };
  const body = { exempt: form.exempt, minute: read('minute'), hour: read('hour'), day: read('day') };
  return { body, errors };
}
