import { Failure } from '../../core/errors.ts';
import { newId, type SecretId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { listSecretUses } from './list-secret-uses.ts';
import { sealSecret } from './seal-secret.ts';
import { MAX_SECRET_NAME_LENGTH, RESERVED_PREFIX, SECRET_NAME, type Secret, type SecretUse } from './secret.ts';
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
  permission: PERMISSIONS.writeSecret,
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
  permission: PERMISSIONS.writeSecret,
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
  permission: PERMISSIONS.deleteSecret,
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

/** Throws `badRequest` if the fields are not valid for a secret; no message shows the value. */
function checkSecret(given: { name?: string; value?: string; description?: string | null }): void {
  const problem = nameProblem(given.name) ?? valueProblem(given.value) ?? descriptionProblem(given.description);
  if (problem !== undefined) throw new Failure('badRequest', problem);
}

function nameProblem(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const isName = SECRET_NAME.test(name) && name.length <= MAX_SECRET_NAME_LENGTH && !name.startsWith(RESERVED_PREFIX);
  if (isName) return undefined;
  return (
    `name: must start with a letter or '_', continue with letters, digits and '_', '.', '-', '/', have at most ` +
    `${MAX_SECRET_NAME_LENGTH} characters, and not start with ${RESERVED_PREFIX}`
  );
}

/** A value becomes part of a container's environment, which cannot hold NUL. */
function valueProblem(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value === '') return 'value: must not be empty';
  return isStorable(value) ? undefined : 'value: must be well-formed text without the character NUL';
}

function descriptionProblem(description: string | null | undefined): string | undefined {
  if (description === undefined || description === null || isStorable(description)) return undefined;
  return 'description: must be well-formed text without the character NUL';
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
