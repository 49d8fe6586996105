import { Failure } from '../../core/errors.ts';
import type { RegistryId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import type { ImageIdentity } from '../../domain/images/image-identity.ts';
import { findImageRefusal } from '../../domain/images/registry-policy.ts';
import { openCredentials } from '../../domain/registries/open-credentials.ts';
import type { OnProgress, PrepareOptions, Runtime, WorkloadSpec } from '../../runtimes/runtime.ts';

/** An image, and the registry whose credentials pull it. */
export interface WantedImage {
  userId: UserId;
  image: string;
  registryId: string | null;
}

/** See `PrepareOptions`. */
type BringOptions = Pick<PrepareOptions, 'pinned' | 'resolve'> & { onProgress?: OnProgress | undefined };

/**
 * Pulls an image unless it is present. Credentials of a private registry reach the pull and nothing else, neither a workload
 * nor a log; they are returned for runtimes that pull when the workload starts. Throws an error whose message is fit for users.
 */
export async function bringImage(
  deps: { pool: Pool; runtime: Runtime; secretBox: SecretBox },
  { userId, image, registryId }: WantedImage,
  { onProgress, ...options }: BringOptions = {},
): Promise<{ registry: WorkloadSpec['registry']; identity: ImageIdentity | null }> {
  const fault = findImageRefusal(image); // a row from before references were checked, or other registries allowed
  if (fault !== null) throw new Failure('unprocessable', fault);
  const auth = registryId && (await openCredentials(deps, userId, registryId as RegistryId));
  const identity = await deps.runtime.prepare(image, {
    ...options,
    ...(auth && { auth }),
    ...(onProgress && { onProgress }),
  });
  return { registry: auth ? { id: registryId, auth } : null, identity };
}
