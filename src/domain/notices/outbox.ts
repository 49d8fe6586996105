/**
 * The outbox of notices: what is in it goes out at least once, and is never more than a destination can be expected to read. A message is
 * settled when it is first tried, and keeps its number: receivers can drop what comes twice.
 */
import type { UserId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { type NoticeDecision, type OpenNotice, reportsEnd } from './decide-notices.ts';
import type { Destination, DestinationId, DestinationKind, NoticeItem } from './notice.ts';

/** Messages to a destination in an hour. What comes after is one summary, when the hour is over. */
export const MAX_PER_HOUR = 20;
const MAX_ITEMS = 50;
const HOUR = `interval '1 hour'`;
const GIVE_UP_AFTER = `interval '3 days'`;
const FIRST_PAUSE_SECONDS = 60;
const MAX_PAUSE_SECONDS = 3_600;
const MAX_ERROR = 500;

/** Returns the conditions that were reported to each destination and have not ended. */
export async function listOpenNotices(db: Db): Promise<Map<DestinationId, OpenNotice[]>> {
  const { rows } = await db.query<OpenNotice & { destinationId: DestinationId }>({
    name: 'notices-open',
    text: `select destination_id as "destinationId", event, subject, item, absent_since as "absentSince" from notices
           order by destination_id, began_at, event, subject`,
  });
  return Map.groupBy(rows, ({ destinationId }) => destinationId) as Map<DestinationId, OpenNotice[]>;
}

/** Stores what was decided together with the messages that say so: both or neither. Nothing if the destination is gone. */
export async function recordDecision(
  pool: Pool,
  { id }: Pick<Destination, 'id'>,
  { begin, end, absent, returned }: NoticeDecision,
): Promise<void> {
  await transaction(pool, async (db) => {
    const { rowCount } = await db.query('select from notice_destinations where id = $1 for update', [id]);
    if (rowCount === 0) return;
    const begun: NoticeItem[] = [];
    for (const { subject, accounts: _, ...item } of begin) {
      const inserted = await db.query(
        `insert into notices (destination_id, event, subject, item) values ($1, $2, $3, $4) on conflict do nothing`,
        [id, item.event, subject, JSON.stringify(item)],
      );
      if (inserted.rowCount === 1) begun.push(item);
    }
    const ended: NoticeItem[] = [];
    for (const notice of end) {
      const deleted = await db.query('delete from notices where destination_id = $1 and event = $2 and subject = $3', [
        id,
        notice.event,
        notice.subject,
      ]);
      if (deleted.rowCount === 1 && reportsEnd(notice)) ended.push({ ...notice.item, phase: 'ENDED' });
    }
    await markAbsent(db, id, absent, true);
    await markAbsent(db, id, returned, false);
    await enqueue(db, id, [...begun, ...ended]);
  });
}

async function markAbsent(db: Db, id: DestinationId, notices: readonly OpenNotice[], isAbsent: boolean): Promise<void> {
  if (notices.length === 0) return;
  await db.query(
    `update notices n set absent_since = case when $4 then now() end
     from unnest($2::text[], $3::text[]) x (event, subject)
     where n.destination_id = $1 and n.event = x.event and n.subject = x.subject`,
    [id, notices.map(({ event }) => event), notices.map(({ subject }) => subject), isAbsent],
  );
}

/** Adds a message for each event and phase; or adds to the summary, where an hour has had enough or an earlier message still fails. */
async function enqueue(db: Db, id: DestinationId, items: readonly NoticeItem[]): Promise<void> {
  if (items.length === 0) return;
  const groups = [...Map.groupBy(items, ({ event, phase }) => `${event} ${phase}`).values()];
  const { rows } = await db.query<{ recent: number; isFailing: boolean; freeAt: Date | null }>(
    `select count(*) filter (where created_at > now() - ${HOUR})::int4 as recent,
            coalesce(bool_or(sent_at is null and given_up_at is null and attempts > 0), false) as "isFailing",
            min(created_at) filter (where created_at > now() - ${HOUR}) + ${HOUR} as "freeAt"
     from notice_messages where destination_id = $1 and not is_test and (created_at > now() - ${HOUR} or sent_at is null)`,
    [id],
  );
  const { recent, isFailing, freeAt } = rows[0]!;
  if (!isFailing && recent + groups.length <= MAX_PER_HOUR) {
    for (const group of groups) await insertMessage(db, id, group, null);
  } else {
    await addToSummary(db, id, items, isFailing ? null : freeAt);
  }
}

/** `dueAt`: null is now. */
async function insertMessage(
  db: Db,
  id: DestinationId,
  items: readonly NoticeItem[],
  summary: { dueAt: Date | null } | null,
): Promise<void> {
  await db.query(
    `insert into notice_messages (destination_id, items, more, is_summary, due_at) values ($1, $2, $3, $4, coalesce($5, now()))`,
    [
      id,
      JSON.stringify(items.slice(0, MAX_ITEMS)),
      Math.max(0, items.length - MAX_ITEMS),
      summary !== null,
      summary?.dueAt ?? null,
    ],
  );
}

async function addToSummary(
  db: Db,
  id: DestinationId,
  items: readonly NoticeItem[],
  dueAt: Date | null,
): Promise<void> {
  const { rows } = await db.query<{ id: number; items: NoticeItem[]; more: number }>(
    `select id, items, more from notice_messages
     where destination_id = $1 and is_summary and attempts = 0 and sent_at is null and given_up_at is null for update`,
    [id],
  );
  const [open] = rows;
  if (!open) return insertMessage(db, id, items, { dueAt });
  const all = [...open.items, ...items];
  await db.query('update notice_messages set items = $2, more = $3 where id = $1', [
    open.id,
    JSON.stringify(all.slice(0, MAX_ITEMS)),
    open.more + Math.max(0, all.length - MAX_ITEMS),
  ]);
}

/** A message to send now, and where. */
export interface DueMessage {
  id: number;
  destinationId: DestinationId;
  userId: UserId | null;
  kind: DestinationKind;
  address: string;
  sealed: Buffer | null;
  items: NoticeItem[];
  more: number;
}

/** Settles and returns the oldest message of each destination that is due, unless an earlier one still has to wait. */
export async function takeDueMessages(db: Db, limit: number): Promise<DueMessage[]> {
  const { rows } = await db.query<DueMessage>({
    name: 'notice-messages-due',
    text: `
      with due as (
        select head.* from (
          select distinct on (m.destination_id) m.id, m.due_at, d.user_id, d.kind, d.address, d.secret
          from notice_messages m join notice_destinations d on d.id = m.destination_id
          left join users u on u.id = d.user_id
          where m.sent_at is null and m.given_up_at is null and (m.attempts > 0 or m.due_at <= now()) and d.is_enabled
            and u.suspended_at is null
          order by m.destination_id, m.id) head
        where head.due_at <= now() order by head.due_at limit $1)
      update notice_messages m set attempts = m.attempts + 1 from due where m.id = due.id
      returning m.id, m.destination_id as "destinationId", due.user_id as "userId", due.kind, due.address, due.secret as sealed, m.items, m.more`,
    values: [limit],
  });
  return rows;
}

export async function recordSent(db: Db, id: number): Promise<void> {
  await db.query('update notice_messages set sent_at = now(), last_error = null where id = $1', [id]);
}

/** It is tried again after a pause that grows to an hour, for three days. */
export async function recordNotSent(db: Db, id: number, error: string): Promise<void> {
  await db.query(
    `update notice_messages
     set last_error = $2,
         due_at = now() + least(${FIRST_PAUSE_SECONDS} * 2 ^ least(greatest(attempts - 1, 0), 10), ${MAX_PAUSE_SECONDS}) * interval '1 second',
         given_up_at = case when created_at < now() - ${GIVE_UP_AFTER} then now() end
     where id = $1`,
    [id, error.slice(0, MAX_ERROR)],
  );
}

/** Removes what was sent or given up long ago. */
export async function expireMessages(db: Db): Promise<void> {
  await db.query(`delete from notice_messages where created_at < now() - interval '30 days'`);
}

/** A message as people read it. */
export interface Delivery {
  id: number;
  createdAt: Date;
  items: NoticeItem[];
  more: number;
  attempts: number;
  sentAt: Date | null;
  givenUpAt: Date | null;
  lastError: string | null;
  /** When it is tried next; null: not any more. */
  dueAt: Date | null;
}

const MAX_DELIVERIES = 50;

/** Returns the newest messages to a destination. */
export async function listDeliveries(db: Db, id: DestinationId): Promise<Delivery[]> {
  const { rows } = await db.query<Delivery>(
    `select id, created_at as "createdAt", items, more, attempts, sent_at as "sentAt", given_up_at as "givenUpAt",
       last_error as "lastError", case when sent_at is null and given_up_at is null then due_at end as "dueAt"
     from notice_messages where destination_id = $1 order by id desc limit ${MAX_DELIVERIES}`,
    [id],
  );
  return rows;
}

/** Stores a message that was only to show that messages arrive. `error`: why it did not; null: it did. */
export async function insertTest(db: Db, id: DestinationId, item: NoticeItem, error: string | null): Promise<void> {
  await db.query(
    `insert into notice_messages (destination_id, items, is_test, attempts, last_error, sent_at, given_up_at)
     values ($1, $2, true, 1, $3, case when $3::text is null then now() end, case when $3::text is not null then now() end)`,
    [id, JSON.stringify([item]), error?.slice(0, MAX_ERROR) ?? null],
  );
}

/** Counts tests of a destination within the last hour. */
export async function countTests(db: Db, id: DestinationId): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int4 as count from notice_messages
     where destination_id = $1 and is_test and created_at > now() - ${HOUR}`,
    [id],
  );
  return rows[0]!.count;
}

/** Returns the leader at the last look, and the time of that look; null: there was none. */
export async function readLastLook(db: Db): Promise<{ epoch: number; lookedAtMs: number } | null> {
  const { rows } = await db.query<{ epoch: number; lookedAt: Date }>(
    'select epoch, looked_at as "lookedAt" from notice_looks where id = 1',
  );
  return rows[0] ? { epoch: rows[0].epoch, lookedAtMs: rows[0].lookedAt.getTime() } : null;
}

/** An orderly stop of the leader is not reported as a change. */
export async function forgetLook(db: Db, epoch: number): Promise<void> {
  await db.query('delete from notice_looks where epoch = $1', [epoch]);
}

export async function recordLook(db: Db, epoch: number, nowMs: number): Promise<void> {
  await db.query(
    `insert into notice_looks (id, epoch, looked_at) values (1, $1, $2)
     on conflict (id) do update set epoch = $1, looked_at = $2`,
    [epoch, new Date(nowMs)],
  );
}
