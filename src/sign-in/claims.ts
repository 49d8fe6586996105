import { Failure } from '../core/errors.ts';
import type { Role } from '../domain/access/roles.ts';
import type { JoinedIdentity } from '../domain/sessions/join-identity.ts';
import type { Provider } from './read-providers.ts';

/** A provider's statements about a person. */
export type Claims = Readonly<Record<string, unknown>>;

const MAX_GROUPS = 1_000;
const MAX_TEXT = 200;

/**
 * Returns a person's identity from their claims. Throws `forbidden` unless they are in a group that may sign in, `unauthorized` if the
 * provider leaves out their groups because there are too many.
 */
export function readIdentity(provider: Provider, claims: Claims): JoinedIdentity {
  const email = textIn(claims, provider.claims.email);
  const groups = groupsIn(claims, provider.claims.groups);
  checkOverage(provider, claims);
  const { userGroups, adminGroups, auditorGroups, billingGroups } = provider;
  const allowed = [userGroups, adminGroups, auditorGroups, billingGroups].flatMap((some) => some ?? []);
  if (userGroups !== null && !isMember(groups, allowed)) {
    throw new Failure('forbidden', `You are in none of the groups that may sign in here: ask an admin of this server.`);
  }
  const subject = String(claims.sub);
  return {
    issuer: provider.issuer,
    subject,
    name: textIn(claims, provider.claims.name) ?? textIn(claims, 'name') ?? email ?? `${provider.name} ${subject}`,
    email,
    isEmailVerified: claims.email_verified === true,
    groups,
    role: roleOf(provider, groups),
    teams: provider.teams.filter(({ group }) => groups.includes(group)),
    joinByEmail: provider.joinByEmail,
  };
}

/** Returns the role that a provider gives persons in none of its groups; null: roles are given here. */
export function roleWithoutGroups(provider: Provider): Role | null {
  return roleOf(provider, []);
}

function roleOf({ adminGroups, auditorGroups, billingGroups }: Provider, groups: readonly string[]): Role | null {
  if (adminGroups === null && auditorGroups === null && billingGroups === null) return null;
  if (isMember(groups, adminGroups ?? [])) return 'ADMIN';
  if (isMember(groups, auditorGroups ?? [])) return 'AUDITOR';
  return isMember(groups, billingGroups ?? []) ? 'BILLING' : 'USER';
}

/** Missing groups would take away what they give: above about 200 groups, Entra names a place to ask instead. */
function checkOverage(provider: Provider, claims: Claims): void {
  const { adminGroups, auditorGroups, billingGroups, userGroups, teams } = provider;
  const lists = [adminGroups, auditorGroups, billingGroups, userGroups];
  const usesGroups = teams.length > 0 || lists.some((some) => some !== null);
  const elsewhere = claims._claim_names;
  const isLeftOut = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, 'groups');
  if (!usesGroups || !isLeftOut || claimAt(claims, provider.claims.groups) !== undefined) return;
  // No 403: this does not mean that the person has left a group.
  throw new Failure(
    'unauthorized',
    `You are in more groups than ${provider.title} sends: have an admin make it send only the groups assigned to this application.`,
  );
}

function isMember(groups: readonly string[], wanted: readonly string[]): boolean {
  return groups.some((group) => wanted.includes(group));
}

/** Finds a claim by its name, or by a path such as `realm_access.roles`. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** PostgreSQL rejects NUL in text. */
function textIn(claims: Claims, name: string): string | null {
  const value = claimAt(claims, name);
  if (typeof value !== 'string') return null;
  return value.replaceAll('\0', '').trim().slice(0, MAX_TEXT) || null;
}

function groupsIn(claims: Claims, name: string): string[] {
  const value = claimAt(claims, name);
  const list = typeof value === 'string' ? [value] : Array.isArray(value) ? value : [];
  const texts = list.filter((group) => typeof group === 'string' && group.length <= MAX_TEXT && !group.includes('\0'));
  return (texts as string[]).slice(0, MAX_GROUPS);
}
