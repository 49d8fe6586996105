import { buildImages } from '../../src/runtimes/docker/example-images.ts';
import type { Cluster } from './cluster.ts';

/**
 * Builds the example images with the container engine, and hands those that are named to our own cluster; another one must
 * have them. Throws when it cannot.
 */
export async function needImages(cluster: Cluster, ...names: string[]): Promise<void> {
  if (!cluster.isOwn) return;
  const built = await buildImages();
  for (const { image, status, note } of built) {
    if (names.includes(image) && status === 'skipped') throw new Error(note);
  }
  await cluster.importImages(...names);
}
