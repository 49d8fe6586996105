import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { secretNamesIn } from './secret-references.ts';

/**
 * Returns for each of `wanted`, in order, null or a sentence with the missing secrets that block its start. One query for
 * all, and none if no env references a secret.
 */
export async function findMissingSecrets(
  db: Db,
  wanted: readonly { userId: UserId; env: Readonly<Record<string, string>> }[],
): Promise<(string | null)[]> {
  const named = wanted.map(({ userId, env }) => secretNamesIn(env).map((name) => ({ userId, name })));
  const all = named.flat();
  if (all.length === 0) return wanted.map(() => null);
  const known = await listKnown(db, all);
  return named.map((own) => {
    const missing = own.filter((one) => !known.has(keyOf(one))).map(({ name }) => name);
    return missing.length === 0 ? null : missingSecretsReason(missing);
  });
}

/** Served by the unique index. */
async function listKnown(db: Db, named: readonly { userId: UserId; name: string }[]): Promise<Set<string>> {
  const result = await db.query<{ userId: UserId; name: string }>({
    name: 'secrets-known',
    text: `select user_id as "userId", name from secrets
           where (user_id, name) in (select * from unnest($1::text[], $2::text[]))`,
    values: [named.map(({ userId }) => userId), named.map(({ name }) => name)],
  });
  return new Set(result.rows.map(keyOf));
}

function keyOf({ userId, name }: { userId: UserId; name: string }): string {
  return `${userId} ${name}`; // ids contain no blanks
}

/** `names` must not be empty. */
export function missingSecretsReason(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`).join(', ');
  return names.length === 1
    ? `there is no secret ${quoted}, which its env names`
    : `there are no secrets ${quoted}, which its env names`;
}
