import { isBuildImage, lostBuildImage } from '../../../domain/builds/build-image.ts';
import { type BuildRegistry, pulledName } from '../../../domain/images/build-registry.ts';
import type { WorkloadSpec } from '../../runtime.ts';

type Pulled = Pick<WorkloadSpec, 'image' | 'registry'>;

/** Returns what nodes pull: images that builds made have other names at their registry. Throws for one that is in none. */
export function asPulled(
  { image, registry }: Pulled,
  { builtImages = null, installation }: { builtImages?: BuildRegistry | null; installation: string },
): Pulled {
  if (!isBuildImage(image)) return { image, registry };
  const name = pulledName(image, builtImages, installation);
  if (name === null) throw lostBuildImage(image);
  return { image: name, registry: builtImages?.auth ? { id: 'builds', auth: builtImages.auth } : null };
}
