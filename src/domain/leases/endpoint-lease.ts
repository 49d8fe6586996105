/** Endpoints that live as long as their client: deleted unless it renews their lease (docs/decisions/0110-lifetime-of-remote-dev.md). */
import { Failure } from '../../core/errors.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { deleteEndpoint } from '../endpoints/delete-endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';

/** An endpoint whose lease has ended. */
export interface EndedLease {
  endpointId: EndpointId;
  userId: UserId;
}

export async function insertLease(db: Db, id: EndpointId, seconds: number): Promise<void> {
  await db.query("insert into endpoint_leases (endpoint_id, ends_at) values ($1, now() + $2 * interval '1 second')", [
    id,
    seconds,
  ]);
}

/** Lets a lease end so many seconds from now. Throws `notFound`, and `conflict` for an endpoint without one: it stays. */
export const renewLease: Operation<Tx, { id: EndpointId; seconds: number }, Date> = {
  name: 'endpoint.renew-lease',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor }, { id, seconds }) {
    await getEndpointRow(db, actor.userId, id);
    const { rows } = await db.query<{ endsAt: Date }>(
      `update endpoint_leases set ends_at = now() + $2 * interval '1 second' where endpoint_id = $1 returning ends_at as "endsAt"`,
      [id, seconds],
    );
    if (rows[0]) return rows[0].endsAt;
    throw new Failure('conflict', 'The endpoint has no lease: it stays until it is deleted');
  },
  subject: ({ id }) => id,
  isAudited: () => false, // a heartbeat: it comes every few seconds
};

/** Deletes an endpoint unless its lease was renewed meanwhile. Resolves with whether it did. */
export const endLease: Operation<Tx, { id: EndpointId }, boolean> = {
  name: 'endpoint.end-lease',
  permission: PERMISSIONS.writeEndpoint,
  async run(tx, { id }) {
    const { rowCount } = await tx.db.query('delete from endpoint_leases where endpoint_id = $1 and ends_at <= now()', [
      id,
    ]);
    if (rowCount === 0) return false;
    await deleteEndpoint.run(tx, { id }, undefined as never);
    return true;
  },
  subject: ({ id }) => id,
  isAudited: (_, isOver) => isOver,
};

/** Returns the ended leases, and in how many milliseconds the next one ends; null if there is none. */
export async function listEndedLeases(db: Db): Promise<{ ended: EndedLease[]; nextInMs: number | null }> {
  const { rows } = await db.query<EndedLease & { inMs: number }>(
    `select e.id as "endpointId", e.user_id as "userId", (extract(epoch from l.ends_at - now()) * 1000)::float8 as "inMs"
     from endpoint_leases l join endpoints e on e.id = l.endpoint_id order by l.ends_at`,
  );
  const next = rows.find(({ inMs }) => inMs > 0);
  return { ended: rows.filter(({ inMs }) => inMs <= 0), nextInMs: next?.inMs ?? null };
}
