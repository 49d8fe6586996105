import { Failure } from '../core/errors.ts';
import type { Role } from '../domain/access/roles.ts';
import type { JoinedIdentity } from '../domain/sessions/join-identity.ts';
import type { Provider } from './read-providers.ts';

/** What a provider says about somebody. */
export type Claims = Readonly<Record<string, unknown>>;

const MAX_GROUPS = 1_000;
const MAX_TEXT = 200;

/** Returns who somebody is, from their claims. Throws `forbidden` unless they are in a group that may sign in. */
export function readIdentity(provider: Provider, claims: Claims): JoinedIdentity {
  const email = textIn(claims, provider.claims.email);
  const groups = groupsIn(claims, provider.claims.groups);
  if (provider.userGroups !== null && !isMember(groups, [...provider.userGroups, ...(provider.adminGroups ?? [])])) {
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
    joinByEmail: provider.joinByEmail,
  };
}

function roleOf({ adminGroups }: Provider, groups: readonly string[]): Role | null {
  if (adminGroups === null) return null;
  return isMember(groups, adminGroups) ? 'ADMIN' : 'USER';
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
