import { Failure } from '../../core/errors.ts';
import { newId, type SecretId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { checkSecret } from './check-secret.ts';
import { listSecretUses } from './list-secret-uses.ts';
import { sealSecret } from './seal-secret.ts';
import type { Secret, SecretUse } from './secret.ts';
import { deleteSecretRow, getSecretRow, insertSecretRow, updateSecretRow } from './secret-store.ts';

interface SealingTx extends Tx {
  secretBox: SecretBox;
}

/**
 * Stores a secret; workers and pods that wait for it can start. Throws `badRequest` if it is not valid, and `conflict` if
 * the user has one of that name.
 */
export const createSecret: Operation<SealingTx, { name: string; value: string; description: string | null }, Secret> = {
  name: 'secret.create',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor, bus, secretBox }, input) {
    checkSecret(input);
    const { name, description } = input;
    const id = newId<SecretId>();
    const value = await sealSecret(db, secretBox, input.value, id);
    bus.publish('secret', actor.userId);
    return insertSecretRow(db, { id, userId: actor.userId, name, description, value });
  },
  subject: (_, { id }) => id,
};

/**
 * Replaces the value, the description (null: none), or both; absent fields stay. Running containers keep the old value.
 * Throws `notFound`, and `badRequest` if a field is not valid.
 */
export const updateSecret: Operation<
  SealingTx,
  { id: SecretId; change: { value?: string; description?: string | null } },
  Secret
> = {
  name: 'secret.update',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor, bus, secretBox }, { id, change }) {
    checkSecret(change);
    const value = change.value === undefined ? null : await sealSecret(db, secretBox, change.value, id);
    const before = await getSecretRow(db, actor.userId, id, 'for update');
    bus.publish('secret', actor.userId);
    if (Object.keys(change).length === 0) return before;
    const description = change.description === undefined ? before.description : change.description;
    return updateSecretRow(db, { id, userId: actor.userId, description, value });
  },
  subject: ({ id }) => id,
};

/** Deletes a secret. Throws `notFound`, and, unless `isForced`, `badRequest` with what uses it while something does. */
export const deleteSecret: Operation<Tx, { id: SecretId; isForced?: boolean }, void> = {
  name: 'secret.delete',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor }, { id, isForced = false }) {
    const { name } = await getSecretRow(db, actor.userId, id, 'for update');
    const uses = (await listSecretUses(db, actor.userId, name)).get(name) ?? [];
    if (uses.length > 0 && !isForced) {
      throw new Failure('badRequest', `The secret is in use by ${formatUses(uses)}.`, { isClash: true });
    }
    await deleteSecretRow(db, actor.userId, id);
  },
  subject: ({ id }) => id,
};

function formatUses(uses: readonly SecretUse[]): string {
  return uses.map(({ kind, name }) => `${kind} '${name}'`).join(', ');
}
