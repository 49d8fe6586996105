import { Failure } from '../../core/errors.ts';
import { type DelegationId, newId, type RegistryId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import type { Delegation, EcrRepository } from './delegation.ts';
import { deleteDelegationRow, insertDelegationRow } from './delegation-store.ts';
import {
  deleteRegistryRow,
  findRegistryUse,
  getRegistryRow,
  insertRegistryRow,
  type Registry,
  updateCredentials,
} from './registry-store.ts';
import { sealCredentials } from './sealed-credentials.ts';

interface SealingTx extends Tx {
  secretBox: SecretBox;
}

/** Stores credentials, sealed; they are only ever read to pull an image. */
export const createRegistry: Operation<SealingTx, { name: string; username: string; password: string }, Registry> = {
  name: 'registry.create',
  permission: () => PERMISSIONS.writeRegistry({}),
  async run({ db, actor, secretBox }, input) {
    const { name } = input;
    const id = newId<RegistryId>();
    const credentials = await sealCredentials(db, secretBox, input, id);
    await insertRegistryRow(db, { id, userId: actor.userId, name, ...credentials });
    return { id, name };
  },
  subject: (_, { id }) => id,
};

/** Replaces the credentials; the next image pull uses them. Throws `notFound`. */
export const updateRegistry: Operation<
  SealingTx,
  { id: RegistryId; change: { username: string; password: string } },
  Registry
> = {
  name: 'registry.update',
  permission: PERMISSIONS.writeRegistry,
  async run({ db, actor, secretBox }, { id, change }) {
    const registry = await getRegistryRow(db, actor.userId, id, 'for update');
    await updateCredentials(db, actor.userId, id, await sealCredentials(db, secretBox, change, id));
    return registry;
  },
  subject: ({ id }) => id,
};

/** Deletes credentials. Throws `notFound`, and `badRequest` while they are in use. */
export const deleteRegistry: Operation<Tx, { id: RegistryId }, void> = {
  name: 'registry.delete',
  permission: PERMISSIONS.deleteRegistry,
  async run({ db, actor }, { id }) {
    await getRegistryRow(db, actor.userId, id, 'for update');
    const use = await findRegistryUse(db, actor.userId, id);
    if (use !== undefined) throw new Failure('badRequest', `The registry is in use by ${use}.`, { isClash: true });
    await deleteRegistryRow(db, actor.userId, id);
  },
  subject: ({ id }) => id,
};

/** Stores a delegation. Podyard has no AWS identity to use it. */
export const createDelegation: Operation<Tx, EcrRepository & { name: string | null }, Delegation> = {
  name: 'delegation.create',
  permission: PERMISSIONS.writeDelegation,
  run: ({ db, actor }, input) => insertDelegationRow(db, { ...input, id: newId<DelegationId>(), userId: actor.userId }),
  subject: (_, { id }) => id,
};

/** Throws `notFound`. */
export const deleteDelegation: Operation<Tx, { id: DelegationId }, void> = {
  name: 'delegation.delete',
  permission: PERMISSIONS.deleteDelegation,
  run: ({ db, actor }, { id }) => deleteDelegationRow(db, actor.userId, id),
  subject: ({ id }) => id,
};
