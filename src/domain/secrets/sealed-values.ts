import type { Db } from '../../db/pool.ts';

/** Everything in the database that is sealed, by the table's primary key `id`. A test holds it against the schema. */
export const SEALED_COLUMNS = [
  { table: 'secrets', column: 'value' },
  { table: 'registries', column: 'password' },
] as const;
export type SealedColumn = (typeof SEALED_COLUMNS)[number];

/** Values of the first form, and what is too short to name a key, are sealed under none. */
const keyIdOf = (column: string) =>
  `case when substring(${column} for 1) = '\\x02' and length(${column}) >= 9
        then encode(substring(${column} from 2 for 8), 'hex') end`;

/** How many values are sealed under each key; null stands for those that do not say. */
export async function countSealedValues(db: Db): Promise<Map<string | null, number>> {
  const parts = SEALED_COLUMNS.map(({ table, column }) => `select ${keyIdOf(column)} as key_id from ${table}`);
  const result = await db.query<{ keyId: string | null; count: number }>(
    `select key_id as "keyId", count(*)::int8 as count from (${parts.join(' union all ')}) x group by key_id`,
  );
  return new Map(result.rows.map(({ keyId, count }) => [keyId, count]));
}

export interface SealedValue {
  id: string;
  sealed: Buffer;
}

/** Up to `limit` values that are not sealed under `keyId`, in order of id from `after` on; locked until the transaction ends. */
export async function lockValuesUnderOtherKeys(
  db: Db,
  { table, column }: SealedColumn,
  options: { keyId: string; after: string; limit: number },
): Promise<SealedValue[]> {
  const result = await db.query<SealedValue>(
    `select id, ${column} as sealed from ${table} where id > $1 and ${keyIdOf(column)} is distinct from $2
     order by id limit $3 for update`,
    [options.after, options.keyId, options.limit],
  );
  return result.rows;
}

export async function updateSealedValues(
  db: Db,
  { table, column }: SealedColumn,
  values: readonly SealedValue[],
): Promise<void> {
  await db.query(
    `update ${table} set ${column} = x.sealed from unnest($1::text[], $2::bytea[]) x (id, sealed) where ${table}.id = x.id`,
    [values.map(({ id }) => id), values.map(({ sealed }) => sealed)],
  );
}

/** Some of the values of the first form, which does not name the key. */
export async function listValuesWithoutKey(db: Db, limit: number): Promise<SealedValue[]> {
  const parts = SEALED_COLUMNS.map(
    ({ table, column }) => `select id, ${column} as sealed from ${table} where substring(${column} for 1) = '\\x01'`,
  );
  const result = await db.query<SealedValue>(`${parts.join(' union all ')} limit $1`, [limit]);
  return result.rows;
}
