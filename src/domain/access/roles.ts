/**
 * Rights of roles in the installation, and in a team. With the permission that each operation names (permissions.ts) and the
 * scopes of a key, this is all that decides a request of REST, GraphQL, v1, the queue API, terminals, console and command line
 * (docs/decisions/0116-teams-are-owners.md).
 */
import type { Permission } from './scopes.ts';
import { TEAM_ROLES, type TeamRole } from './team-roles.ts';

export { TEAM_ROLES, type TeamRole } from './team-roles.ts';

/** Roles beyond one's own account. Each includes the rights of a USER. */
export const ROLES = ['ADMIN', 'USER', 'AUDITOR', 'BILLING'] as const;
export type Role = (typeof ROLES)[number];

/** Actions on the whole installation or other accounts, and the roles that may do them. */
export const OPERATOR_ACTIONS = {
  /** Users and teams with what they may have, have and hold: limits, names of keys, terminals. */
  readUsers: ['ADMIN', 'AUDITOR'],
  writeUsers: ['ADMIN'],
  /** The installation's history, metrics, default limits and problems. */
  readInstallation: ['ADMIN', 'AUDITOR'],
  writeInstallation: ['ADMIN'],
  /** Costs and budgets of all accounts. */
  readBilling: ['ADMIN', 'AUDITOR', 'BILLING'],
  writeBilling: ['ADMIN'],
  /** Read what any account owns, as `AUDITOR` below, by naming it in a request. */
  readAccounts: ['ADMIN', 'AUDITOR'],
} as const satisfies Record<string, readonly Role[]>;
export type OperatorAction = keyof typeof OPERATOR_ACTIONS;

/** The role in which a person acts for an account: as a member, or with the right to read every account. */
export type ActingRole = TeamRole | 'AUDITOR';

/** The role that a member needs to write: DEVELOPER in areas without an entry. */
const WRITERS: Partial<Record<string, TeamRole>> = { account: 'OWNER', users: 'OWNER', billing: 'OWNER' };

/**
 * True if a person with `role` may do it on what the account owns:
 *
 *     VIEWER     read, also status and results of jobs
 *     DEVELOPER  also create, change and run, and send work
 *     OPERATOR   also delete, roll back, and run programs in pods and workers
 *     OWNER      also keys of the team, budgets, and the team itself with its members
 *     AUDITOR    read, but no secret and no payload of a job
 */
export function rolePermits(role: ActingRole, permission: Permission): boolean {
  if ('exec' in permission) return isAtLeast(role, 'OPERATOR');
  if (permission.access === 'read') return role !== 'AUDITOR' || ('area' in permission && !permission.isSecret);
  if ('invoke' in permission) return isAtLeast(role, 'DEVELOPER');
  return isAtLeast(role, permission.member ?? WRITERS[permission.area] ?? 'DEVELOPER');
}

function isAtLeast(role: ActingRole, wanted: TeamRole): boolean {
  return role !== 'AUDITOR' && TEAM_ROLES.indexOf(role) >= TEAM_ROLES.indexOf(wanted);
}
