/** The roles of a team's members; each permits what those before it do. */
export const TEAM_ROLES = ['VIEWER', 'DEVELOPER', 'OPERATOR', 'OWNER'] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];
