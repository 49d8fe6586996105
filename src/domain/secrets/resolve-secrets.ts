import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { missingSecretsReason } from './missing-secrets.ts';
import { replaceReferences, secretNamesIn } from './secret-references.ts';
import { listSealedValues } from './secret-store.ts';

/**
 * Returns the environment of a container: `env` of a worker's release or of a pod, with each `{{ RUNPOD_SECRET_name }}`
 * replaced by the value of the owner's secret. Call it right before `runtime.start` and never store the result. One query,
 * and none without a reference. Throws an error for users with the missing secrets, or one for operators if a value cannot
 * be decrypted; neither shows a value. A retry loop calls `findMissingSecrets` first, and waits for the topic `secret`.
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
  if (missing.length > 0) throw new Failure('unprocessable', missingSecretsReason(missing));
  return replaceReferences(env, (name) => values.get(name)!);
}
