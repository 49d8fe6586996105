import { parseImageReference } from './image-reference.ts';

/** Mirrors by the registry that they mirror: a host, and perhaps a path below which names begin. */
export type RegistryMirrors = ReadonlyMap<string, string>;

export const NO_MIRRORS: RegistryMirrors = new Map();

/** Returns the name that an image, or a repository, has at the mirror of its registry; null where there is no mirror. */
export function nameAtMirror(image: string, mirrors: RegistryMirrors): string | null {
  if (mirrors.size === 0) return null;
  const parsed = parseImageReference(image);
  if ('fault' in parsed) return null;
  const { registry, repository, tag, digest } = parsed;
  const isHub = /^(?:(?:index|registry-1)\.)?docker\.io$/.test(registry);
  const mirror = mirrors.get(isHub ? 'docker.io' : registry);
  if (mirror === undefined) return null;
  const path = isHub && !repository.includes('/') ? `library/${repository}` : repository;
  const rest = digest !== null ? `@${digest}` : tag !== null ? `:${tag}` : '';
  return `${mirror}/${path}${rest}`;
}
