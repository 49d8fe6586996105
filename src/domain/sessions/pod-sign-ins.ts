/**
 * How the session of the console opens a private pod (docs/decisions/0129-private-pods-in-a-browser.md): the console gets a ticket, and the
 * pod's host exchanges it for a cookie. Hashes cover what the ticket and the cookie are for, so that they fit nowhere else.
 */
import { Failure } from '../../core/errors.ts';
import { newSecret, type PodId, type SessionId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { hashSecret } from '../access/secret-hash.ts';
import type { Operation, Tx } from '../change.ts';
import { findSessionForShare } from './session-store.ts';

const TICKET_PREFIX = 'pyo';
const TICKET_SECONDS = 60;
const COOKIE_PREFIX = 'pyb';
/** Per session; another one replaces the oldest. */
const MAX_OF_SESSION = 100;

/** An HTTP port of a pod. */
export interface PodPort {
  id: PodId;
  port: number;
}

/**
 * Lets the actor's session open a port of a pod that they may read, and returns the ticket for it: used once, within a minute, by the
 * browser that knows what `state` is the hash of. Throws `unauthorized` if the session has ended meanwhile.
 */
export const openPod: Operation<Tx, PodPort & { state: string }, string> = {
  name: 'pod.open',
  permission: PERMISSIONS.readPod,
  async run({ db, actor: { sessionId } }, { state, ...at }) {
    if (sessionId === undefined || !(await findSessionForShare(db, sessionId))) {
      throw new Failure('unauthorized', 'sign in first');
    }
    await makeRoom(db, sessionId);
    const ticket = newSecret(TICKET_PREFIX);
    await db.query('insert into pod_sign_ins (session_id, ticket_hash) values ($1, $2)', [
      sessionId,
      hashSecret(ticketSecret(ticket, at, state)),
    ]);
    return ticket;
  },
  subject: ({ id }) => id,
};

async function makeRoom(db: Db, sessionId: SessionId): Promise<void> {
  await db.query(
    `delete from pod_sign_ins where ctid in (
       select ctid from (
         select ctid, ticket_hash is not null and created_at < now() - interval '${TICKET_SECONDS} seconds' as is_over,
           row_number() over (order by created_at desc) as place
         from pod_sign_ins where session_id = $1
       ) x where is_over or place >= ${MAX_OF_SESSION})`,
    [sessionId],
  );
}

/** Returns the cookie that a ticket becomes; undefined if it was used, has expired, or is for something else. */
export async function usePodTicket(
  db: Db,
  ticket: string,
  { state, network, ...at }: PodPort & { state: string; network: string | null },
): Promise<string | undefined> {
  const cookie = newSecret(COOKIE_PREFIX);
  const result = await db.query(
    `update pod_sign_ins set ticket_hash = null, secret_hash = $2
     where ticket_hash = $1 and created_at > now() - interval '${TICKET_SECONDS} seconds'`,
    [hashSecret(ticketSecret(ticket, at, state)), hashSecret(podCookieSecret(cookie, at, network))],
  );
  return result.rowCount === 1 ? cookie : undefined;
}

/** Returns the secret of a cookie as the ring knows it. `network`: where alone it counts; null: everywhere. */
export function podCookieSecret(cookie: string, { id, port }: PodPort, network: string | null): string {
  return `${cookie}@${id}-${port}@${network ?? ''}`;
}

function ticketSecret(ticket: string, { id, port }: PodPort, state: string): string {
  return `${ticket}@${id}-${port}@${state}`;
}
