import type { KeyId, PodId, SessionId, TerminalId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { isLiveKey } from '../access/key-store.ts';
import { isLiveSession } from '../sessions/session-store.ts';
import {
  PROCESS_GONE,
  SILENT_SECONDS,
  type TerminalRequest,
  type TerminalSession,
  type TerminalTarget,
  TICKET_SECONDS,
} from './terminal.ts';

/**
 * SQL over `terminal_sessions s`: true if the process that served it is gone, or its last sign of life is too old. A process whose
 * connection for hints was cut counts as gone until it has another.
 */
const IS_LOST = `(s.opened_at is not null and s.ended_at is null and (
  s.seen_at < now() - interval '${SILENT_SECONDS} seconds'
  or not exists (
    select from processes p where p.id = s.process_id
      and (p.listener_pid is null or exists (select from pg_stat_activity a where a.pid = p.listener_pid)))))`;

const COLUMNS = `s.id, s.user_id as "userId", u.name as "userName", s.key_id as "keyId", s.key_name as "keyName",
  s.session_id as "sessionId",
  s.pod_id as "podId", s.endpoint_id as "endpointId", s.worker_id as "workerId", s.program, s.has_terminal as "hasTerminal",
  case when s.opened_at is null then 'PENDING' when s.ended_at is null and not (${IS_LOST}) then 'OPEN' else 'ENDED' end as status,
  s.client_address as "clientAddress", s.created_at as "createdAt", s.opened_at as "openedAt",
  coalesce(s.ended_at, case when ${IS_LOST} then s.seen_at end) as "endedAt", s.exit_code as "exitCode",
  coalesce(s.end_reason, case when ${IS_LOST} then '${PROCESS_GONE}' end) as "endReason"`;
const SESSIONS = 'terminal_sessions s join users u on u.id = s.user_id';

/** Locks the user's row, so that the count is right until the commit. Served by terminal_sessions_live. */
export async function countLiveSessions(db: Db, userId: UserId): Promise<number> {
  await db.query('select from users where id = $1 for no key update', [userId]);
  const result = await db.query<{ count: number }>(
    `select count(*)::int8 as count from terminal_sessions s where s.user_id = $1 and s.ended_at is null and not (${IS_LOST})
       and (s.opened_at is not null or s.created_at > now() - interval '${TICKET_SECONDS} seconds')`,
    [userId],
  );
  return result.rows[0]!.count;
}

/** Inserts a session that its ticket opens. Takes the name of the key from its row. */
export async function insertSession(
  db: Db,
  session: TerminalTarget & {
    id: TerminalId;
    userId: UserId;
    keyId: KeyId;
    sessionId: SessionId | null;
    program: string;
    ticketHash: Buffer;
    request: TerminalRequest;
  },
): Promise<TerminalSession> {
  const { id, userId, keyId, sessionId, podId, endpointId, workerId, program, ticketHash, request } = session;
  await db.query(
    `insert into terminal_sessions
       (id, user_id, key_id, key_name, pod_id, endpoint_id, worker_id, program, has_terminal, ticket_hash, request, session_id)
     select $1, $2, $3, coalesce((select name from api_keys where id = $3), ''), $4, $5, $6, $7, $8, $9, $10, $11`,
    [
      id,
      userId,
      keyId,
      podId,
      endpointId,
      workerId,
      program,
      request.size !== null,
      ticketHash,
      JSON.stringify(request),
      sessionId,
    ],
  );
  return (await findSession(db, id))!;
}

/** Returns a session of any user. */
async function findSession(db: Db, id: TerminalId): Promise<TerminalSession | undefined> {
  return (await db.query<TerminalSession>(`select ${COLUMNS} from ${SESSIONS} where s.id = $1`, [id])).rows[0];
}

/** Uses up a ticket: undefined when there is none that can still be used, or its user, key or session may do nothing any more. */
export async function redeemTicket(
  db: Db,
  ticketHash: Buffer,
  by: { processId: string; clientAddress: string },
): Promise<{ session: TerminalSession; request: TerminalRequest } | undefined> {
  const result = await db.query<{ id: TerminalId; request: TerminalRequest }>(
    `with ticket as (
       select t.id, t.request from terminal_sessions t join users u on u.id = t.user_id
       where t.ticket_hash = $1 and t.created_at > now() - interval '${TICKET_SECONDS} seconds' and u.suspended_at is null
         and (${isLiveKey('t.key_id')} or ${isLiveSession('t.session_id')})
       for update of t skip locked
     )
     update terminal_sessions s
     set ticket_hash = null, request = null, opened_at = now(), seen_at = now(), process_id = $2, client_address = $3
     from ticket where s.id = ticket.id returning s.id, ticket.request`,
    [ticketHash, by.processId, by.clientAddress],
  );
  const opened = result.rows[0];
  if (!opened) return undefined;
  return { session: (await findSession(db, opened.id))!, request: opened.request };
}

/** The fate of the workload of an open session. */
export interface WorkloadNews {
  id: TerminalId;
  /** Why the session has to end now; null while it may go on. */
  endReason: string | null;
  /** Why its workload will end soon. */
  notice: string | null;
}

/** Records that a process still serves these sessions, and returns what became of their workloads. */
export async function touchSessions(db: Db, ids: readonly TerminalId[]): Promise<WorkloadNews[]> {
  const result = await db.query<WorkloadNews>({
    name: 'terminals-touch',
    text: `update terminal_sessions s set seen_at = now()
           from terminal_sessions o
             left join pods p on p.id = o.pod_id
             left join workers w on w.id = o.worker_id
             left join api_keys k on k.id = o.key_id
             left join sessions b on b.id = o.session_id
           where s.id = o.id and o.id = any($1::text[])
           returning s.id,
             case
               when s.end_wanted_at is not null then 'it was ended by a user'
               when coalesce(k.user_id, b.user_id) <> s.user_id and not exists (
                 select from team_members m where m.team_id = s.user_id and m.user_id = coalesce(k.user_id, b.user_id)
                   and m.role in ('OPERATOR', 'OWNER')) then 'its user may no longer run programs for the team'
               when s.pod_id is not null then
                 case
                   when p.id is null or p.wanted = 'TERMINATE' then 'the pod was terminated'
                   when p.wanted = 'STOP' then coalesce('the pod was stopped: ' || p.wanted_reason, 'the pod was stopped')
                   when p.phase <> 'RUNNING' or p.phase_revision <> p.revision then 'the pod was restarted or has ended'
                 end
               when w.id is null then 'the worker has ended'
               when w.phase = 'EXITED' then coalesce('the worker has ended: ' || w.phase_reason, 'the worker has ended')
               when w.phase = 'FROZEN' then 'the worker was frozen: ' || w.wanted_reason
             end as "endReason",
             case when w.wanted in ('DRAIN', 'STOP', 'FREEZE') and w.phase = 'RUNNING' then
               case w.wanted when 'FREEZE' then 'the worker is about to be frozen: ' else 'the worker is about to stop: ' end
                 || w.wanted_reason
             end as notice`,
    values: [ids],
  });
  return result.rows;
}

/** Records the end of a session, once. */
export async function updateSessionEnded(
  db: Db,
  id: TerminalId,
  end: { exitCode: number | null; reason: string | null },
): Promise<void> {
  await db.query(
    'update terminal_sessions set ended_at = now(), exit_code = $2, end_reason = $3 where id = $1 and ended_at is null',
    [id, end.exitCode, end.reason],
  );
}

/** A session whose process is gone, and which may have left its program running. */
export interface LostSession {
  id: TerminalId;
  workloadId: PodId | WorkerId;
}

export async function listLostSessions(db: Db): Promise<LostSession[]> {
  const result = await db.query<LostSession>(
    `select s.id, coalesce(s.pod_id, s.worker_id) as "workloadId" from terminal_sessions s where ${IS_LOST}`,
  );
  return result.rows;
}

/** Records the end of a lost session: when its process last said that it served it. */
export async function updateSessionLost(db: Db, id: TerminalId): Promise<void> {
  await db.query(
    `update terminal_sessions set ended_at = seen_at, end_reason = '${PROCESS_GONE}' where id = $1 and ended_at is null`,
    [id],
  );
}

/** Asks for the end of an open session. `userId`: null for the operator. False if there is none. */
export async function updateSessionEndWanted(db: Db, userId: UserId | null, id: TerminalId): Promise<boolean> {
  const result = await db.query(
    `update terminal_sessions set end_wanted_at = coalesce(end_wanted_at, now()),
       ended_at = case when opened_at is null then now() end,
       ticket_hash = null, request = null
     where id = $1 and ($2::text is null or user_id = $2) and ended_at is null`,
    [id, userId],
  );
  return result.rowCount === 1;
}

/** Returns sessions that were opened, newest first. `userId`: null for those of all users. */
export async function listSessions(db: Db, userId: UserId | null, limit: number): Promise<TerminalSession[]> {
  const result = await db.query<TerminalSession>(
    `select ${COLUMNS} from ${SESSIONS}
     where ${userId === null ? '$1::text is null' : 's.user_id = $1'} and s.opened_at is not null
     order by s.created_at desc limit $2`,
    [userId, limit],
  );
  return result.rows;
}

const KEPT_DAYS = 90;
const KEPT_PER_USER = 1_000;

/** Keeps the newest sessions of each user. Deletes unused tickets. */
export async function deleteOldSessions(db: Db): Promise<void> {
  await db.query(
    `delete from terminal_sessions where id in (
       select id from (
         select id, created_at, opened_at, ended_at,
                row_number() over (partition by user_id order by created_at desc) as place
         from terminal_sessions
       ) s
       where (ended_at is not null and (place > ${KEPT_PER_USER} or created_at < now() - interval '${KEPT_DAYS} days'))
          or (opened_at is null and created_at < now() - interval '10 minutes')
     )`,
  );
}
