import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { findPinnedModel } from '../../domain/models/pinned-model-store.ts';
import { resolveSecrets } from '../../domain/secrets/resolve-secrets.ts';
import { REFERENCE_PREFIX } from '../../domain/secrets/secret-references.ts';

/** Returns a model with its files and the user's token for it. Throws a sentence for users; keep the token nowhere. */
export async function openModel(
  context: { pool: Pool; secretBox: SecretBox },
  userId: UserId,
  { id, name, tokenSecret }: { id: string; name: string; tokenSecret: string | null },
): Promise<{ model: PinnedModel; token: string | null }> {
  const model = await findPinnedModel(context.pool, id);
  if (!model) throw new Failure('unprocessable', `what the model '${name}' consists of is not known any more`);
  if (tokenSecret === null) return { model, token: null };
  const env = { token: `{{ ${REFERENCE_PREFIX}${tokenSecret} }}` };
  const { token } = await resolveSecrets(context, userId, env);
  return { model, token: token!.trim() };
}
