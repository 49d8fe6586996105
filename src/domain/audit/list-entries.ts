import { Failure } from '../../core/errors.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import type { UserId } from '../../core/ids.ts';
import { asciiJson } from '../../core/text/ascii-json.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { checkOperator } from '../access/check-operator.ts';
import type { NewEntry, Outcome } from './audit-entry.ts';

/** An entry as people read it. */
export interface AuditEntry extends NewEntry {
  /** Grows with time; entries that were rolled back leave gaps. */
  seq: number;
  /** ISO 8601 with microseconds. */
  at: string;
  /** By the names of now. Null: there is none, or it is deleted. */
  actorName: string | null;
  keyName: string | null;
  ownerName: string | null;
}

export interface AuditFilter {
  /** Whose records; null: those of everybody, and the installation's. */
  ownerId: UserId | null;
  /** Who did it: the id of a user. */
  actorId?: string | undefined;
  /** Its name, or the kind of record: `endpoint.update`, `endpoint`. */
  operation?: string | undefined;
  recordId?: string | undefined;
  outcome?: Outcome | undefined;
  /** At or after this time. */
  since?: Date | undefined;
  /** Before this time. */
  until?: Date | undefined;
}

export interface AuditPage {
  entries: AuditEntry[];
  /** Null at the end. */
  nextCursor: string | null;
}

export const DEFAULT_AUDIT_PAGE = 50;
export const MAX_AUDIT_PAGE = 500;
/** Rows that an export reads at a time. */
const EXPORT_PAGE = 250;
/** Entries that take about a millisecond to write. */
const ENTRIES_IN_A_TURN = 50;
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_(\d{1,18})$/;

/** Returns whose entries the caller may see: of their own records; of another's, or `all`, only an admin or auditor. Throws `forbidden`. */
export async function readAuditScope(db: Db, actor: Actor, userId: string | undefined): Promise<UserId | null> {
  if (userId === undefined || userId === actor.userId) return actor.userId;
  await checkOperator(db, actor.userId, 'readAccounts');
  return userId === 'all' ? null : (userId as UserId);
}

/**
 * Returns entries, newest first. Each filter alone has an index in this order, so the newest come at once, whatever the table's size; of
 * several, the planner takes the rarest. Throws `badRequest` for a cursor that is none.
 */
export async function listEntries(
  db: Db,
  filter: AuditFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<AuditPage> {
  const entries = await readPage(db, filter, { limit: limit + 1, cursor, order: 'desc' });
  const page = entries.slice(0, limit);
  return { entries: page, nextCursor: entries.length > limit ? cursorAt(page.at(-1)!) : null };
}

/**
 * Yields all that match, oldest first, as JSON lines of ASCII: no name breaks a line, for readers that know more breaks than one, or moves
 * a terminal's cursor. In pages, so that a long export holds no transaction open; `inSlot` runs each read. The reader's work takes turns with that of others.
 */
export async function* exportEntries(
  db: Db,
  filter: AuditFilter,
  { reader, inSlot }: { reader: UserId; inSlot: <T>(read: () => Promise<T>) => Promise<T> },
): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (;;) {
    const entries = await inSlot(() => readPage(db, filter, { limit: EXPORT_PAGE, cursor, order: 'asc' }));
    for (let at = 0; at < entries.length; at += ENTRIES_IN_A_TURN) {
      await takeTurn(reader);
      const some = entries.slice(at, at + ENTRIES_IN_A_TURN);
      yield some.map((entry) => `${asciiJson(entry)}\n`).join('');
    }
    if (entries.length < EXPORT_PAGE) return;
    cursor = cursorAt(entries.at(-1)!);
  }
}

/** The columns of an AuditEntry. */
export const ENTRY_COLUMNS = `
  a.seq, to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, a.operation, a.record_id as "recordId",
  a.record_name as "recordName", a.owner_id as "ownerId", a.actor_kind as "actorKind", a.actor_id as "actorId",
  a.key_id as "keyId", a.session_id as "sessionId", a.interface, a.address, a.request_id as "requestId", a.outcome, a.reason,
  a.repeats, a.changes,
  (select u.name from users u where u.id = a.actor_id) as "actorName",
  (select k.name from api_keys k where k.id = a.key_id) as "keyName",
  (select u.name from users u where u.id = a.owner_id) as "ownerName"`;

async function readPage(
  db: Db,
  filter: AuditFilter,
  { limit, cursor, order }: { limit: number; cursor: string | undefined; order: 'asc' | 'desc' },
): Promise<AuditEntry[]> {
  const { conditions, values } = conditionsOf(filter);
  if (cursor !== undefined) {
    values.push(...parseCursor(cursor));
    const place = `($${values.length - 1}::text::timestamptz, $${values.length}::text::bigint)`;
    conditions.push(`(a.at, a.seq) ${order === 'desc' ? '<' : '>'} ${place}`);
  }
  const page = (more: string[]) => {
    const all = [...conditions, ...more];
    return `(select a.* from audit_entries a ${all.length > 0 ? `where ${all.join(' and ')}` : ''}
             order by a.at ${order}, a.seq ${order} limit ${limit})`;
  };
  const { operation } = filter;
  let [names, source] = ['', page([])];
  if (operation?.includes('.')) {
    values.push(operation);
    source = page([`a.operation = $${values.length}`]);
  } else if (operation !== undefined) {
    values.push(`${operation}.`);
    names = operationsFrom(`$${values.length}`);
    source = `(select p.* from names n cross join lateral ${page(['a.operation = n.operation'])} p)`;
  }
  const { rows } = await db.query<AuditEntry>(
    `${names} select ${ENTRY_COLUMNS} from ${source} a order by a.at ${order}, a.seq ${order} limit ${limit}`,
    values,
  );
  return rows;
}

/** The operations in the log whose names begin with a parameter: each name in it is one look into audit_entries_by_operation. */
function operationsFrom(prefix: string): string {
  return `with recursive found as (
      select min(operation) as operation from audit_entries
      union all
      select (select min(e.operation) from audit_entries e where e.operation > f.operation) from found f where f.operation is not null
    ), names as (select operation from found where starts_with(operation, ${prefix}))`;
}

/** The time too: the entry itself may be gone by the next page. */
function cursorAt({ at, seq }: AuditEntry): string {
  return `${at}_${seq}`;
}

function parseCursor(cursor: string): [at: string, seq: string] {
  const [, at = '', seq = ''] = CURSOR.exec(cursor) ?? [];
  if (Number.isNaN(Date.parse(at))) throw new Failure('badRequest', 'cursor: is not one that this list returned');
  return [at, seq];
}

function conditionsOf(filter: AuditFilter): { conditions: string[]; values: unknown[] } {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (condition: string, value: unknown) => {
    if (value === undefined || value === null) return;
    values.push(value);
    conditions.push(condition.replace('?', `$${values.length}`));
  };
  add('a.actor_id = ?', filter.actorId);
  add('a.owner_id = ?', filter.ownerId);
  add('a.record_id = ?', filter.recordId);
  add('a.outcome = ?', filter.outcome);
  add('a.at >= ?', filter.since);
  add('a.at < ?', filter.until);
  return { conditions, values };
}
