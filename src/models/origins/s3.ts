import { posix } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { OriginModel } from '../../domain/models/model-origins.ts';
import type { ModelReference } from '../../domain/models/model-reference.ts';
import type { Reach } from '../fetch/http-get.ts';
import { askOrigin } from './ask-origin.ts';
import { objectPlace } from './file-place.ts';

/**
 * Returns the model that is one object, with the digest that its user gives: it is compared when the object is fetched. `secret`:
 * `ACCESS_KEY_ID:SECRET_ACCESS_KEY`; null: the object is public. Throws as `ModelOrigins.read`.
 */
export async function readObjectModel(
  reach: Reach,
  { name, sha256 }: Extract<ModelReference, { source: 'S3' }>,
  secret: string | null,
): Promise<OriginModel> {
  const question = { ...objectPlace(name, secret), method: 'HEAD' as const, name, hasSecret: secret !== null };
  return askOrigin(reach, question, ({ headers }) => {
    const size = Number(headers['content-length'] ?? Number.NaN);
    if (!Number.isSafeInteger(size))
      throw new Failure('unavailable', `${question.url.host} does not say how large ${name} is`);
    const digest = `sha256:${sha256}` as const;
    const path = posix.basename(name.split('?')[0]!);
    return { source: 'S3', name, commit: digest, files: [{ path, size, digest }], task: null };
  });
}
