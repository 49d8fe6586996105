import { buildImages } from '../../src/runtimes/docker/images/example-images.ts';
import type { Cluster } from './cluster.ts';

/**
 * Builds the example images with the container engine and imports the named ones into our own cluster; any other cluster must have
 * them. Throws when one cannot be built.
 */
export async function needImages(cluster: Cluster, ...names: string[]): Promise<void> {
  if (!cluster.isOwn) return;
  const built = await buildImages();
  for (const { image, status, note } of built) {
    if (names.includes(image) && status === 'skipped') throw new Error(note);
  }
  await cluster.importImages(...names);
}
