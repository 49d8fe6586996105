import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { findUser, type User } from '../access/users.ts';
import type { Operation, Tx } from '../change.ts';
import { keepOwnersOfTeams } from '../teams/team-owners.ts';
import { keepLastAdmin, lockAdmins } from './admins.ts';
import { getUser, publishUser, refuseRemoved } from './change-user.ts';
import { type Remaining, readRemaining } from './removal-progress.ts';
import { planTransfer, type TransferPlan, type TransferredRecords, transferRecords } from './transfer-records.ts';

export interface RemovalPlan extends TransferPlan {
  owned: Remaining;
}

/** Returns what a deletion would delete, or transfer to `newOwnerId`, and what stands in its way. Throws `notFound`. */
export async function planRemoval(db: Db, id: UserId, newOwnerId: UserId | null): Promise<RemovalPlan> {
  const user = await findUser(db, id);
  if (!user) throw notFound('User');
  const owned = await readRemaining(db, id);
  if (newOwnerId === null) return { owned, renamed: [], exceeded: [] };
  return { owned, ...(await planTransfer(db, user, checkNewOwner(user, await findUser(db, newOwnerId)))) };
}

/**
 * Begins the deletion of a user: their keys are refused from now on, and control deletes what they own, and then the user. With
 * a new owner, what they own is transferred first, in the same transaction. Throws `notFound`; `conflict` for the last active admin, for
 * a user who is being deleted, and for a new owner who cannot take it.
 */
export const requestRemoval: Operation<Tx<Admin>, { id: UserId; newOwnerId: UserId | null }, User> = {
  name: 'user.remove',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { id, newOwnerId }) {
    const admins = await lockAdmins(db, admin);
    await lockBoth(db, id, newOwnerId);
    const before = await getUser(db, id);
    refuseRemoved(before);
    keepLastAdmin(admins, before, 'deleted');
    await keepOwnersOfTeams(db, before);
    await beginRemoval({ db, bus }, before, newOwnerId, admin?.userId ?? null);
    return getUser(db, id);
  },
  subject: ({ id }) => id,
};

/** Marks an account, whose row and the new owner's are locked, as being deleted, and transfers what it owns. Throws as `requestRemoval`. */
export async function beginRemoval(
  { db, bus }: Pick<Tx, 'db' | 'bus'>,
  before: User,
  newOwnerId: UserId | null,
  removedBy: UserId | null,
): Promise<void> {
  const moved =
    newOwnerId === null
      ? null
      : await transferRecords(db, before, checkNewOwner(before, await findUser(db, newOwnerId)));
  await db.query(
    `update users set removing_at = now(), removed_by = $2, suspended_at = coalesce(suspended_at, now()),
       suspended_workloads = 'STOP' where id = $1`,
    [before.id, removedBy],
  );
  await publishUser(db, bus, before.id);
  if (moved && newOwnerId) publishTransferred(bus, newOwnerId, moved);
}

/** So that nothing that is being created refers to the former user: an insert locks the row of its user as well. */
export async function lockBoth(db: Db, id: UserId, newOwnerId: UserId | null): Promise<void> {
  await db.query('select from users where id = any($1::text[]) order by id for update', [[id, newOwnerId ?? id]]);
}

/** Throws `conflict` for a user who cannot take over, `notFound` for one who does not exist. */
function checkNewOwner(user: User, newOwner: User | undefined): User {
  if (!newOwner) throw notFound('User to hand over to');
  if (newOwner.id === user.id) throw new Failure('conflict', `'${user.name}' cannot be handed over to the same user`);
  if (newOwner.suspension !== null)
    throw new Failure('conflict', `'${newOwner.name}' is suspended and cannot take over`);
  return newOwner;
}

function publishTransferred(bus: Tx['bus'], newOwnerId: UserId, moved: TransferredRecords): void {
  for (const id of moved.endpointIds) {
    for (const topic of ['endpoint', 'demand', 'batch'] as const) bus.publish(topic, id);
  }
  for (const id of moved.workerIds) bus.publish('worker', id);
  for (const id of moved.podIds) bus.publish('pod', id);
  for (const id of moved.clusterIds) bus.publish('cluster', id);
  for (const topic of ['limits', 'secret'] as const) bus.publish(topic, newOwnerId);
}
