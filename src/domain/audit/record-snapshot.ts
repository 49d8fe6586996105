import type { Db } from '../../db/pool.ts';
import type { AuditChanges } from './audit-entry.ts';
import { AUDITED_RECORDS, type AuditedRecord } from './audited-records.ts';
import { diffRecords, type Fields } from './diff-records.ts';

/** A record at one moment. */
export interface RecordSnapshot {
  ownerId: string | null;
  name: string | null;
  fields: Fields;
}

/** Returns what an entry shows of a change of a record of this kind. */
export function changesOf(kind: string, before: Fields | null, after: Fields | null): AuditChanges | null {
  const record = AUDITED_RECORDS[kind];
  if (record === undefined) return null;
  const { maps = [], values = [] } = record.hidden ?? {};
  return diffRecords(Object.keys(record.fields), before, after, { maps, values });
}

const statements = new Map<string, string>();

/** Reads a record as entries show it; null if there is none. */
export async function readSnapshot(db: Db, kind: string, id: string): Promise<RecordSnapshot | null> {
  const record = AUDITED_RECORDS[kind];
  if (record === undefined) return null;
  const { rows } = await db.query<RecordSnapshot>({
    name: `audit-read-${kind}`,
    text: statementOf(kind, record, ''),
    values: [id],
  });
  return rows[0] ?? null;
}

/**
 * As `readSnapshot`, before an operation of `ownerId` on its own record: locks the row as the operation will, so that it cannot change in
 * between, and the entry shows no concurrent change. Another owner's record is neither read nor locked. Null: any owner.
 */
export async function lockSnapshot(
  db: Db,
  kind: string,
  id: string,
  ownerId: string | null,
): Promise<RecordSnapshot | null> {
  const record = AUDITED_RECORDS[kind];
  if (record?.lock === undefined) return readSnapshot(db, kind, id);
  const { rows } = await db.query<RecordSnapshot>({
    name: `audit-lock-${kind}`,
    text: statementOf(kind, record, `and ($2::text is null or t.user_id = $2) ${record.lock}`),
    values: [id, ownerId],
  });
  return rows[0] ?? null;
}

function statementOf(kind: string, { owner, name, fields, from }: AuditedRecord, rest: string): string {
  const known = statements.get(kind + rest);
  if (known !== undefined) return known;
  const members = Object.entries(fields).map(([field, sql]) => `'${field}', ${sql}`);
  const text = `select ${owner} as "ownerId", ${name} as name, json_build_object(${members.join(', ')}) as fields from ${from} ${rest}`;
  statements.set(kind + rest, text);
  return text;
}
