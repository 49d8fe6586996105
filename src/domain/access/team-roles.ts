/** The roles of a team's members; each permits what those before it do. */
export const TEAM_ROLES = ['VIEWER', 'DEVELOPER', 'OPERATOR', 'OWNER'] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];

/** The words for a role's rights in the API, on the command line and in the console. */
export const TEAM_ROLE_RIGHTS: Readonly<Record<TeamRole, string>> = {
  VIEWER: 'reads everything but the values of secrets, also results of jobs',
  DEVELOPER: 'also creates, changes, starts and stops, and sends jobs',
  OPERATOR: 'also deletes, rolls back and opens terminals',
  OWNER: 'also manages members, keys of the team and budgets',
};

/** Returns the rights of all roles in one text, with the names as `spell` gives them. */
export function describeTeamRoles(spell: (role: TeamRole) => string): string {
  return TEAM_ROLES.map((role) => `${spell(role)} ${TEAM_ROLE_RIGHTS[role]}`).join('; ');
}
