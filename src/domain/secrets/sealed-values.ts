import type { Db } from '../../db/pool.ts';

/**
 * All sealed columns; null where nothing is sealed. The record id is the table's primary key `id`. A test checks the list
 * against the schema.
 */
export const SEALED_COLUMNS = [
  { table: 'secrets', column: 'value' },
  { table: 'registries', column: 'password' },
  { table: 'pods', column: 'jupyter_password' },
  { table: 's3_keys', column: 'secret' },
  { table: 'git_sources', column: 'private_key' },
  { table: 'git_sources', column: 'webhook_secret' },
  { table: 'sessions', column: 'tokens' },
  { table: 'notice_destinations', column: 'secret' },
  { table: 'sealed_settings', column: 'value' },
] as const;
export type SealedColumn = (typeof SEALED_COLUMNS)[number];

/** SQL of the key id of a value; null for version 1, and for what is too short to name a key. */
const keyIdOf = (column: string) =>
  `case when substring(${column} for 1) = '\\x02' and length(${column}) >= 9
        then encode(substring(${column} from 2 for 8), 'hex') end`;

/** Counts the values sealed under each key; null: those that name none. The schema may be an older one. */
export async function countSealedValues(db: Db): Promise<Map<string | null, number>> {
  const present = await listPresentColumns(db);
  if (present.length === 0) return new Map();
  const parts = present.map(
    ({ table, column }) => `select ${keyIdOf(column)} as key_id from ${table} where ${column} is not null`,
  );
  const result = await db.query<{ keyId: string | null; count: number }>(
    `select key_id as "keyId", count(*)::int8 as count from (${parts.join(' union all ')}) x group by key_id`,
  );
  return new Map(result.rows.map(({ keyId, count }) => [keyId, count]));
}

async function listPresentColumns(db: Db): Promise<SealedColumn[]> {
  const tables = [...new Set(SEALED_COLUMNS.map(({ table }) => table))];
  // Not information_schema, whose views take tens of milliseconds of a start.
  const { rows } = await db.query<{ name: string }>(
    `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relname = any($1::text[]) and c.relnamespace = current_schema()::regnamespace and a.attnum > 0 and not a.attisdropped`,
    [tables],
  );
  const names = new Set(rows.map(({ name }) => name));
  return SEALED_COLUMNS.filter(({ table, column }) => names.has(`${table}.${column}`));
}

export interface SealedValue {
  id: string;
  sealed: Buffer;
}

/** Locks up to `limit` values that are not sealed under `keyId`, by id, after `after`. */
export async function lockValuesUnderOtherKeys(
  db: Db,
  { table, column }: SealedColumn,
  options: { keyId: string; after: string; limit: number },
): Promise<SealedValue[]> {
  const result = await db.query<SealedValue>(
    `select id, ${column} as sealed from ${table}
     where id > $1 and ${column} is not null and ${keyIdOf(column)} is distinct from $2
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

/** Returns some of the values of version 1, which name no key. */
export async function listValuesWithoutKey(db: Db, limit: number): Promise<SealedValue[]> {
  const parts = SEALED_COLUMNS.map(
    ({ table, column }) => `select id, ${column} as sealed from ${table} where substring(${column} for 1) = '\\x01'`,
  );
  const result = await db.query<SealedValue>(`${parts.join(' union all ')} limit $1`, [limit]);
  return result.rows;
}
