import type { UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { missingSecretsReason } from './missing-secrets.ts';
import { replaceReferences, secretNamesIn } from './secret-references.ts';
import { listSealedValues } from './secret-store.ts';

/**
 * The environment that a container is started with: `env` of a worker's release or of a pod, each
 * `{{ RUNPOD_SECRET_name }}` in it replaced by the value of the user's secret. Call it right before `runtime.start`, with
 * the owner's id, and keep the answer nowhere: what is stored and shown is `env` itself. One query, and none without a
 * reference. Throws a sentence fit for users that names the secrets which there are not, and one for operators when a
 * value cannot be opened; neither shows a value. Whoever starts things again and again asks `findMissingSecrets` first,
 * and lets them wait until the topic `secret` tells of a new one.
 */
export async function resolveSecrets(
  context: { pool: Db; secretBox: SecretBox },
  userId: UserId,
  env: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const names = secretNamesIn(env);
  if (names.length === 0) return { ...env };
  const rows = await listSealedValues(context.pool, userId, names);
  const values = new Map(rows.map(({ id, name, value }) => [name, context.secretBox.open(value, id)]));
  const missing = names.filter((name) => !values.has(name));
  if (missing.length > 0) throw new Error(missingSecretsReason(missing));
  return replaceReferences(env, (name) => values.get(name)!);
}
