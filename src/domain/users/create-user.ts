import type { Clock } from '../../core/clock.ts';
import { type KeyId, newId, newSecret } from '../../core/ids.ts';
import type { Admin } from '../access/actor.ts';
import { checkMaker, checkNewKey, KEY_PREFIX, type NewApiKey } from '../access/create-api-key.ts';
import { type ApiKey, insertKey } from '../access/key-store.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { refuseUserBesideProcesses } from '../access/refuse-shared-processes.ts';
import type { Role } from '../access/roles.ts';
import { hashSecret } from '../access/secret-hash.ts';
import { createUser, type User } from '../access/users.ts';
import type { Operation, Tx } from '../change.ts';
import { lockAdmins } from './admins.ts';
import { checkMayGrant } from './change-user.ts';

export interface NewUser {
  name: string;
  email: string | null;
  role: Role;
  /** Null: without a key. */
  key: Omit<NewApiKey, 'userId'> | null;
}

/**
 * Creates a user, with a first key if one is wanted, and returns the key's secret, which is stored nowhere. Both or nothing.
 * Throws `forbidden` if the key would permit more than the admin's own, `conflict` for a name that is taken, and where the
 * runtime may serve one user only.
 */
export const createUserWithKey: Operation<
  Tx<Admin> & { clock: Clock; facts: { takesSeveralUsers: boolean } },
  NewUser,
  { user: User; key: ApiKey | null; secret: string | null }
> = {
  name: 'user.create',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, clock, facts }, input) {
    checkMayGrant(admin, input.role);
    if (input.key !== null) checkNewKey(clock, input.key);
    if (!facts.takesSeveralUsers) await refuseUserBesideProcesses(db);
    const secret = newSecret(KEY_PREFIX);
    await lockAdmins(db, admin);
    const user = await createUser(db, input);
    if (input.key === null) return { user, key: null, secret: null };
    const wanted = { ...input.key, userId: user.id };
    if (admin) await checkMaker(db, admin, wanted);
    const createdBy = admin && { userId: admin.userId, keyId: admin.keyId };
    const key = await insertKey(db, { ...wanted, id: newId<KeyId>(), secretHash: hashSecret(secret), createdBy });
    return { user, key, secret };
  },
  subject: (_, { user }) => user.id,
};
