import { randomBytes } from 'node:crypto';
import { notFound } from '../../core/errors.ts';
import type { PodId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import type { Pod } from './pod.ts';

/** The variable in which images look for Jupyter's password. */
const VARIABLE = 'JUPYTER_PASSWORD';
const PASSWORD_BYTES = 24;

/** True if the pod starts Jupyter with a password of its own: one in its `env` wins. */
export function hasOwnPassword({ startJupyter, env }: Pick<Pod, 'startJupyter' | 'env'>): boolean {
  return startJupyter && !Object.hasOwn(env, VARIABLE);
}

/** Returns the password of a pod, for its container. The first call makes it; it stays the same from then on. */
export async function makeJupyterPassword(
  { pool, secretBox }: { pool: Pool; secretBox: SecretBox },
  { id }: Pick<Pod, 'id'>,
): Promise<string> {
  return transaction(pool, async (db) => {
    const sealed = await lockSealed(db, id);
    if (sealed) return secretBox.open(sealed, id);
    const password = randomBytes(PASSWORD_BYTES).toString('base64url');
    const value = await sealSecret(db, secretBox, password, id);
    await db.query('update pods set jupyter_password = $2 where id = $1', [id, value]);
    return password;
  });
}

/**
 * Returns the password that Podyard made for a pod of the user; null if it made none: the pod starts no Jupyter, never
 * started yet, or has a password in its `env`. Throws `notFound`.
 */
export async function findJupyterPassword(
  { pool, secretBox }: { pool: Pool; secretBox: SecretBox },
  userId: UserId,
  id: PodId,
): Promise<string | null> {
  const result = await pool.query<Pick<Pod, 'startJupyter' | 'env'> & { sealed: Buffer | null }>(
    `select start_jupyter as "startJupyter", env, jupyter_password as sealed from pods
     where id = $1 and user_id = $2 and wanted <> 'TERMINATE'`,
    [id, userId],
  );
  const pod = result.rows[0];
  if (!pod) throw notFound('Pod');
  return pod.sealed && hasOwnPassword(pod) ? secretBox.open(pod.sealed, id) : null;
}

async function lockSealed(db: Db, id: PodId): Promise<Buffer | null> {
  const result = await db.query<{ sealed: Buffer | null }>(
    'select jupyter_password as sealed from pods where id = $1 for update',
    [id],
  );
  return result.rows[0]?.sealed ?? null;
}
