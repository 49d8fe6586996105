import { Failure } from '../../core/errors.ts';
import type { SecretId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { listSecretUses } from './list-secret-uses.ts';
import type { SecretUse } from './secret.ts';
import { deleteSecretRow, getSecretRow } from './secret-store.ts';

/** Deletes a secret. Throws `notFound`, and, unless `isForced`, `badRequest` with what uses it while something does. */
export async function deleteSecret(
  context: Context,
  actor: Actor,
  id: SecretId,
  options: { isForced?: boolean } = {},
): Promise<void> {
  await transaction(context.pool, async (db) => {
    const { name } = await getSecretRow(db, actor.userId, id, 'for update');
    const uses = (await listSecretUses(db, actor.userId, name)).get(name) ?? [];
    if (uses.length > 0 && options.isForced !== true) {
      throw new Failure('badRequest', `The secret is in use by ${formatUses(uses)}.`, { isClash: true });
    }
    await deleteSecretRow(db, actor.userId, id);
  });
}

function formatUses(uses: readonly SecretUse[]): string {
  return uses.map(({ kind, name }) => `${kind} '${name}'`).join(', ');
}
