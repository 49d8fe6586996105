import { TEAM_ROLE_RIGHTS } from '../../../../src/domain/access/team-roles.ts';
import type { Schemas } from '../../api/client.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';

export type Team = Schemas['Team'];
export type Member = Schemas['TeamMember'];
export type TeamRole = Member['role'];

export const TEAM_STATES = {
  SUSPENDED: { label: 'Suspended', color: 'orange' },
  DELETING: { label: 'Deleting', color: 'orange' },
  ACTIVE: { label: 'Active', color: 'green' },
} as const;

/** The roles in a team, each with what the ones before it may do. */
export const TEAM_ROLES: { value: TeamRole; label: string; text: string }[] = [
  { value: 'VIEWER', label: 'Viewer', text: rights('VIEWER') },
  { value: 'DEVELOPER', label: 'Developer', text: rights('DEVELOPER') },
  { value: 'OPERATOR', label: 'Operator', text: rights('OPERATOR') },
  { value: 'OWNER', label: 'Owner', text: rights('OWNER') },
];

function rights(role: TeamRole): string {
  const text = TEAM_ROLE_RIGHTS[role];
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

export function roleLabel(role: TeamRole | null): string {
  return TEAM_ROLES.find(({ value }) => value === role)?.label ?? 'No member';
}

/** Describes the rights of a role; each role has those of the ones before it, too. */
export function roleSummary(role: TeamRole): SummaryText {
  const count = TEAM_ROLES.findIndex(({ value }) => value === role) + 1;
  return { facts: TEAM_ROLES.slice(0, count).map(({ label, text }) => ({ label, value: text })) };
}
