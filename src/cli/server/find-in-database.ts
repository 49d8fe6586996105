import type { UserId } from '../../core/ids.ts';
import { didYouMean } from '../../core/text/closest.ts';
import type { Db } from '../../db/pool.ts';

/** Kinds of records that are found by name in the database, as their tables are called. */
export type NamedTable = 'endpoints' | 'pods' | 'templates' | 'network_volumes' | 'registries';

/**
 * Returns the id of a record, by id or by a name that one of them has. `userId`: among this user's; null: among everybody's.
 * Throws a sentence if there is none, or if several have the name.
 */
export async function findIdInDatabase(
  db: Db,
  table: NamedTable,
  idOrName: string,
  userId: UserId | null = null,
): Promise<string> {
  const live = table === 'pods' ? "wanted <> 'TERMINATE'" : 'true';
  const { rows } = await db.query<{ id: string; name: string }>(
    `select id, name from ${table} where ($1::text is null or user_id = $1) and ${live}`,
    [userId],
  );
  const found = rows.find(({ id }) => id === idOrName);
  if (found) return found.id;
  const named = rows.filter(({ name }) => name === idOrName);
  if (named.length === 1) return named[0]!.id;
  const all = table.replace('_', ' ');
  if (named.length > 1) {
    throw new Error(
      `${named.length} ${all} are named '${idOrName}': use an id, one of ${named.map(({ id }) => id).join(', ')}`,
    );
  }
  const meant = didYouMean(
    idOrName,
    rows.map(({ name }) => name),
  );
  const one = `${all[0]!.toUpperCase()}${all.slice(1)}`.replace(/ies$/, 'y').replace(/s$/, '');
  throw new Error(`${one} not found: '${idOrName}'${meant}`);
}
