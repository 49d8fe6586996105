import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { secretNamesIn } from './secret-references.ts';

/**
 * What of the given would not start for lack of a secret, with a sentence that names what is missing. One query for all
 * of them, and none when no env names a secret.
 */
export async function findMissingSecrets<T extends { userId: UserId; spec: { env: Readonly<Record<string, string>> } }>(
  db: Db,
  wanted: readonly T[],
): Promise<Map<T, string>> {
  const named = wanted.flatMap((one) => secretNamesIn(one.spec.env).map((name) => ({ one, name })));
  if (named.length === 0) return new Map();
  const known = await listKnown(
    db,
    named.map(({ one, name }) => ({ userId: one.userId, name })),
  );
  const missing = new Map<T, string[]>();
  for (const { one, name } of named) {
    if (!known.has(keyOf(one.userId, name))) missing.set(one, [...(missing.get(one) ?? []), name]);
  }
  return new Map([...missing].map(([one, names]) => [one, missingSecretsReason(names)]));
}

/** Served by the unique index. */
async function listKnown(db: Db, named: readonly { userId: UserId; name: string }[]): Promise<Set<string>> {
  const result = await db.query<{ userId: UserId; name: string }>({
    name: 'secrets-known',
    text: `select user_id as "userId", name from secrets
           where (user_id, name) in (select * from unnest($1::text[], $2::text[]))`,
    values: [named.map(({ userId }) => userId), named.map(({ name }) => name)],
  });
  return new Set(result.rows.map(({ userId, name }) => keyOf(userId, name)));
}

function keyOf(userId: UserId, name: string): string {
  return `${userId} ${name}`; // an id holds no blank
}

/** `names` is not empty. */
export function missingSecretsReason(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`).join(', ');
  return names.length === 1
    ? `there is no secret ${quoted}, which its env names`
    : `there are no secrets ${quoted}, which its env names`;
}
