import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import { missingTokenText } from '../../domain/models/model-text.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { findPinnedModel } from '../../domain/models/pinned-model-store.ts';
import { listSealedValues } from '../../domain/secrets/secret-store.ts';

/** Returns a model with its files and the user's token for it. Throws a sentence for users; keep the token nowhere. */
export async function openModel(
  { pool, secretBox }: { pool: Pool; secretBox: SecretBox },
  userId: UserId,
  { id, name, tokenSecret }: { id: string; name: string; tokenSecret: string | null },
): Promise<{ model: PinnedModel; token: string | null }> {
  const model = await findPinnedModel(pool, id);
  if (!model) throw new Failure('unprocessable', `what the model '${name}' consists of is not known any more`);
  if (tokenSecret === null) return { model, token: null };
  const [secret] = await listSealedValues(pool, userId, [tokenSecret]);
  if (!secret) throw new Failure('unprocessable', `the model '${name}': ${missingTokenText(tokenSecret)}`);
  return { model, token: secretBox.open(secret.value, secret.id).trim() };
}
