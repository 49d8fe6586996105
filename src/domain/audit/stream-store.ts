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

/** Where entries are sent besides. Each has its own place in the log. */
export type AuditStreamKind = 'WEBHOOK' | 'SYSLOG' | 'OTLP';

/** Returns the first sealed entries that this stream has not sent: nothing is sealed before an earlier number, so none is passed over. */
export async function readPortion(db: Db, kind: AuditStreamKind): Promise<AuditPortion> {
  const newest = await db.query<{ lastSeq: number; head: string }>(
    `select last_seq as "lastSeq", encode(hash, 'hex') as head from audit_seals order by last_seq desc limit 1`,
  );
  const link = newest.rows[0];
  if (!link) return { entries: [], head: null };
  const { rows } = await db.query<AuditEntry>(
    `select ${ENTRY_COLUMNS} from audit_entries a
     where a.seq > coalesce((select delivered_seq from audit_stream where kind = $2), 0) and a.seq <= $1
     order by a.seq limit ${PORTION}`,
    [link.lastSeq, kind],
  );
  return { entries: rows, head: link.head };
}

export async function recordDelivered(db: Db, kind: AuditStreamKind, seq: number): Promise<void> {
  await db.query(
    `insert into audit_stream (kind, delivered_seq) values ($1, $2)
     on conflict (kind) do update set delivered_seq = $2, failures = 0, last_error = null, updated_at = now()`,
    [kind, seq],
  );
}

/** Resolves with the number of failures since the last success. */
export async function recordNotDelivered(db: Db, kind: AuditStreamKind, error: string): Promise<number> {
  const { rows } = await db.query<{ failures: number }>(
    `insert into audit_stream (kind, delivered_seq, failures, last_error) values ($1, 0, 1, $2)
     on conflict (kind) do update set failures = audit_stream.failures + 1, last_error = $2, updated_at = now()
     returning failures`,
    [kind, error.slice(0, MAX_ERROR)],
  );
  return rows[0]!.failures;
}
