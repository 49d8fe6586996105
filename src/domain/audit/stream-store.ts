import type { Db } from '../../db/pool.ts';
import { type AuditEntry, ENTRY_COLUMNS } from './list-entries.ts';

/** Entries of one POST at most: about 100 KB. */
const PORTION = 100;
const MAX_ERROR = 500;

/** Entries to send next. */
export interface AuditPortion {
  entries: AuditEntry[];
  /** The hash of the newest link of the chain. */
  head: string | null;
}

/** Returns the first sealed entries that were not sent: nothing is sealed before an earlier number, so none is passed over. */
export async function readPortion(db: Db): Promise<AuditPortion> {
  const newest = await db.query<{ lastSeq: number; head: string }>(
    `select last_seq as "lastSeq", encode(hash, 'hex') as head from audit_seals order by last_seq desc limit 1`,
  );
  const link = newest.rows[0];
  if (!link) return { entries: [], head: null };
  const { rows } = await db.query<AuditEntry>(
    `select ${ENTRY_COLUMNS} from audit_entries a
     where a.seq > coalesce((select delivered_seq from audit_stream), 0) and a.seq <= $1 order by a.seq limit ${PORTION}`,
    [link.lastSeq],
  );
  return { entries: rows, head: link.head };
}

export async function recordDelivered(db: Db, seq: number): Promise<void> {
  await db.query(
    `insert into audit_stream (id, delivered_seq) values (1, $1)
     on conflict (id) do update set delivered_seq = $1, failures = 0, last_error = null, updated_at = now()`,
    [seq],
  );
}

/** Resolves with the number of failures since the last success. */
export async function recordNotDelivered(db: Db, error: string): Promise<number> {
  const { rows } = await db.query<{ failures: number }>(
    `insert into audit_stream (id, delivered_seq, failures, last_error) values (1, 0, 1, $1)
     on conflict (id) do update set failures = audit_stream.failures + 1, last_error = $1, updated_at = now()
     returning failures`,
    [error.slice(0, MAX_ERROR)],
  );
  return rows[0]!.failures;
}
