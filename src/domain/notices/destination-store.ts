import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Destination, DestinationId } from './notice.ts';

/** A destination with how sending to it went. */
export interface ListedDestination extends Destination {
  lastSentAt: Date | null;
  /** The error of a message that waits or was given up; null: the last one was sent. */
  lastError: string | null;
  /** Messages that wait to be sent. */
  waiting: number;
}

const COLUMNS = `d.id, d.user_id as "userId", d.name, d.kind, d.address, d.events, d.wait_minutes as "waitMinutes",
  d.is_enabled as "isEnabled", d.created_at as "createdAt"`;
const LISTED = `${COLUMNS},
  (select max(m.sent_at) from notice_messages m where m.destination_id = d.id) as "lastSentAt",
  (select m.last_error from notice_messages m where m.destination_id = d.id and (m.attempts > 0 or m.sent_at is not null)
   order by m.id desc limit 1) as "lastError",
  (select count(*) from notice_messages m
   where m.destination_id = d.id and m.sent_at is null and m.given_up_at is null)::int4 as waiting`;

/** Returns those of an account, or of the installation (null), oldest first. */
export async function listDestinations(db: Db, userId: UserId | null): Promise<ListedDestination[]> {
  const { rows } = await db.query<ListedDestination>(
    `select ${LISTED} from notice_destinations d where d.user_id is not distinct from $1 order by d.created_at, d.id`,
    [userId],
  );
  return rows;
}

export async function findDestination(db: Db, id: DestinationId): Promise<ListedDestination | undefined> {
  return (await db.query<ListedDestination>(`select ${LISTED} from notice_destinations d where d.id = $1`, [id]))
    .rows[0];
}

/** Locks it. */
export async function lockDestination(db: Db, id: DestinationId): Promise<Destination | undefined> {
  const { rows } = await db.query<Destination>(
    `select ${COLUMNS} from notice_destinations d where d.id = $1 for update`,
    [id],
  );
  return rows[0];
}

/** Returns what is sealed in a destination; undefined: it is gone, null: nothing is. */
export async function findSealed(db: Db, id: DestinationId): Promise<Buffer | null | undefined> {
  const { rows } = await db.query<{ secret: Buffer | null }>('select secret from notice_destinations where id = $1', [
    id,
  ]);
  return rows[0]?.secret;
}

/** `sealed`: undefined leaves what is sealed as it is. */
export async function storeDestination(
  db: Db,
  row: Omit<Destination, 'createdAt'>,
  sealed?: Buffer | null,
): Promise<void> {
  const { id, userId, name, kind, address, events, waitMinutes, isEnabled } = row;
  await db.query(
    `insert into notice_destinations (id, user_id, name, kind, address, events, wait_minutes, is_enabled, secret)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (id) do update set name = $3, address = $5, events = $6, wait_minutes = $7, is_enabled = $8,
       secret = case when $10 then $9 else notice_destinations.secret end`,
    [id, userId, name, kind, address, events, waitMinutes, isEnabled, sealed ?? null, sealed !== undefined],
  );
}

export async function deleteDestinationRow(db: Db, id: DestinationId): Promise<void> {
  await db.query('delete from notice_destinations where id = $1', [id]);
}

/** Returns the enabled destinations of accounts that are not suspended. */
export async function listEnabledDestinations(db: Db): Promise<Destination[]> {
  const { rows } = await db.query<Destination>({
    name: 'notice-destinations',
    text: `select ${COLUMNS} from notice_destinations d left join users u on u.id = d.user_id
           where d.is_enabled and u.suspended_at is null order by d.created_at, d.id`,
  });
  return rows;
}

/** Returns the email addresses of an account: a person's own, or those of a team's members. */
export async function listAccountEmails(db: Db, userId: UserId): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    `select lower(email) as email from users u
     where email is not null and (u.id = $1 or u.id in (select m.user_id from team_members m where m.team_id = $1))`,
    [userId],
  );
  return rows.map(({ email }) => email);
}
