/**
 * Operations of admins on users. Each locks the active admins first, then the user, and checks both under the locks: the
 * last active admin stays, whatever happens at the same moment.
 */
import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Role } from '../access/roles.ts';
import {
  findUserForUpdate,
  type SuspendedWorkloads,
  type User,
  updateSuspension,
  updateUserFields,
} from '../access/users.ts';
import type { Operation, Tx } from '../change.ts';
import { listEndpointIds } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { stopPodsOfUser } from '../pods/pod-lifecycle.ts';
import { deleteSessionsOfUser } from '../sessions/session-store.ts';
import { keepOwnersOfTeams } from '../teams/team-owners.ts';
import { keepLastAdmin, lockAdmins } from './admins.ts';

/**
 * Changes a user's email or role; a new role ends their sessions. Throws `notFound`; `conflict` for the last active admin's role;
 * `forbidden` if a key without the scope `all` gives another role than USER: it would grant more than it may do itself.
 */
export const updateUser: Operation<Tx<Admin>, { id: UserId; changes: { email?: string | null; role?: Role } }, User> = {
  name: 'user.update',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { id, changes }) {
    checkMayGrant(admin, changes.role);
    const admins = await lockAdmins(db, admin);
    const before = await getUser(db, id);
    refuseRemoved(before);
    if (changes.role !== undefined && before.kind === 'TEAM') {
      throw new Failure('conflict', `'${before.name}' is a team, and only people have roles in the installation`);
    }
    if (changes.role !== undefined && changes.role !== 'ADMIN') keepLastAdmin(admins, before, 'demoted');
    await updateUserFields(db, id, changes);
    if (changes.role !== undefined && changes.role !== before.role) await deleteSessionsOfUser(db, id);
    bus.publish('user', id);
    return getUser(db, id);
  },
  subject: ({ id }) => id,
};

/** Throws `forbidden` unless the key may give this role, which may grant more than the key has. */
export function checkMayGrant(admin: Admin, role: Role | undefined): void {
  if (role === undefined || role === 'USER' || admin === null || admin.scopes.some(({ kind }) => kind === 'all'))
    return;
  throw new Failure(
    'forbidden',
    `access denied: only a key with the scope 'all' can ${role === 'ADMIN' ? 'make an admin' : 'give this role'}`,
  );
}

/**
 * Suspends a user: their keys are refused by all processes at once, their sessions end, and what was opened with them ends. With `STOP`, their
 * endpoints are scaled to zero until the suspension ends, and their pods are stopped. Suspending again changes reason and
 * workloads. Throws `notFound`, and `conflict` for the last active admin.
 */
export const suspendUser: Operation<
  Tx<Admin>,
  { id: UserId; workloads: SuspendedWorkloads; reason: string | null },
  User
> = {
  name: 'user.suspend',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { id, workloads, reason }) {
    const admins = await lockAdmins(db, admin);
    const before = await getUser(db, id);
    refuseRemoved(before);
    keepLastAdmin(admins, before, 'suspended');
    await keepOwnersOfTeams(db, before);
    await updateSuspension(db, id, { workloads, reason, byId: admin?.userId ?? null });
    await deleteSessionsOfUser(db, id);
    const podIds =
      workloads === 'STOP' ? await stopPodsOfUser(db, { userId: id, by: admin, reason: 'its user is suspended' }) : [];
    for (const podId of podIds) bus.publish('pod', podId);
    await publishUser(db, bus, id);
    return getUser(db, id);
  },
  subject: ({ id }) => id,
};

/** Ends a suspension. Endpoints scale again; stopped pods stay stopped. Throws `notFound`, and `conflict` during a deletion. */
export const resumeUser: Operation<Tx<Admin>, { id: UserId }, User> = {
  name: 'user.resume',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { id }) {
    await lockAdmins(db, admin);
    refuseRemoved(await getUser(db, id));
    await updateSuspension(db, id, null);
    await publishUser(db, bus, id);
    return getUser(db, id);
  },
  subject: ({ id }) => id,
};

/** Notifies of a user whose keys and endpoints may be affected. */
export async function publishUser(db: Db, bus: Tx['bus'], id: UserId): Promise<void> {
  bus.publish('user', id);
  bus.publish('limits', id);
  for (const endpointId of await listEndpointIds(db, id)) publishEndpoint(bus, endpointId);
}

/** Locks the user. Throws `notFound`. */
export async function getUser(db: Db, id: UserId): Promise<User> {
  const user = await findUserForUpdate(db, id);
  if (!user) throw notFound('User');
  return user;
}

/** Throws `conflict` for a user who is being deleted. */
export function refuseRemoved(user: User): void {
  if (user.removingAt !== null) throw new Failure('conflict', `'${user.name}' is being deleted`);
}
