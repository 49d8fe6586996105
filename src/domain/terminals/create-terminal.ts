import type { TerminalLimits } from '../../config/limit-settings.ts';
import { Failure } from '../../core/errors.ts';
import { type EndpointId, newId, newSecret, type PodId, type TerminalId, type WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { hashSecret } from '../access/secret-hash.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { getPodRow } from '../pods/pod-store.ts';
import { getWorkerDetailRow } from '../workers/worker-store.ts';
import { programOf, type TerminalRequest, type TerminalSession, type TerminalTarget } from './terminal.ts';
import { countLiveSessions, insertSession } from './terminal-store.ts';

/** A pod, or an endpoint with one of its workers; null: one that runs. */
export type TerminalPlace = { podId: PodId } | { endpointId: EndpointId; workerId: WorkerId | null };

const TICKET_PREFIX = 'pyt';

/**
 * Prepares a session and returns the ticket that opens it once, within a minute. Throws `notFound`, `forbidden` when terminals
 * are off, and `conflict` when the workload does not run or the user has too many sessions.
 */
export const createTerminal: Operation<
  Tx & { terminal: TerminalLimits | null },
  { place: TerminalPlace; request: TerminalRequest },
  { session: TerminalSession; ticket: string }
> = {
  name: 'terminal.create',
  permission: ({ place }) => PERMISSIONS.exec({ id: 'podId' in place ? place.podId : place.endpointId }),
  async run({ db, actor, terminal: limits }, { place, request }) {
    if (limits === null) throw new Failure('forbidden', 'terminals are disabled on this server (--no-terminal)');
    const target = await findTarget(db, actor, place);
    const ticket = newSecret(TICKET_PREFIX);
    const open = await countLiveSessions(db, actor.userId);
    if (open >= limits.perUser) {
      const text = `${open} terminal sessions are open, and a user may have ${limits.perUser}: end one first`;
      throw new Failure('conflict', text);
    }
    const session = await insertSession(db, {
      ...target,
      id: newId<TerminalId>(),
      userId: actor.userId,
      keyId: actor.keyId,
      sessionId: actor.sessionId ?? null,
      program: programOf(request.command),
      ticketHash: hashSecret(ticket),
      request,
    });
    return { session, ticket };
  },
  subject: (_, { session }) => session.id,
};

async function findTarget(db: Db, { userId }: Actor, place: TerminalPlace): Promise<TerminalTarget> {
  if ('podId' in place) {
    const { id, status } = await getPodRow(db, userId, place.podId);
    if (status !== 'RUNNING') throw new Failure('conflict', `The pod is ${status}: start it first`);
    return { podId: id, endpointId: null, workerId: null };
  }
  const { id: endpointId } = await getEndpointRow(db, userId, place.endpointId);
  const workerId = place.workerId ?? (await findRunningWorker(db, endpointId));
  const { phase, wantedReason } = await getWorkerDetailRow(db, userId, endpointId, workerId);
  if (phase === 'FROZEN') {
    throw new Failure(
      'conflict',
      `Worker ${workerId} is frozen (${wantedReason}): send the endpoint a request to thaw it`,
    );
  }
  if (phase !== 'RUNNING') throw new Failure('conflict', `Worker ${workerId} does not run: it is ${phase}`);
  return { podId: null, endpointId, workerId };
}

/** Ready ones first, then the one that has run longest. */
async function findRunningWorker(db: Db, endpointId: EndpointId): Promise<WorkerId> {
  const result = await db.query<{ id: WorkerId }>(
    `select id from workers where endpoint_id = $1 and phase = 'RUNNING' and wanted = 'RUN' and not is_lost
     order by ready_at is null, started_at, id limit 1`,
    [endpointId],
  );
  if (result.rows[0]) return result.rows[0].id;
  throw new Failure('conflict', 'The endpoint has no running worker: send it a request, or set workers.min to 1');
}
