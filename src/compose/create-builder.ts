import type { Config } from '../config/config.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** Returns why this server builds no images, one sentence; null: it does. */
export function buildHindrance({ builds }: Config, { name }: Runtime): string | null {
  if (builds.atOnce === 0) return 'This server builds no images: PODYARD_BUILDS is 0. Push one to a registry instead.';
  if (name === 'docker' || name === 'process') return null;
  const where = name === 'kubernetes' ? 'on Kubernetes' : 'while its runtime is simulated';
  return `This server builds no images ${where}: push one to a registry, and name it.`;
}
