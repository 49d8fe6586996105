import { type ImageIdentity, identityIn, repositoryOf } from '../../../domain/images/image-identity.ts';

const REPORTED = /^(?:[a-z-]+:\/\/)?(?<repository>[^@]+)@(?<digest>sha256:[0-9a-f]{64})$/;

/**
 * Returns what a pod runs, by what its node reports (`docker-pullable://ghcr.io/me/app@sha256:…`). Null where that names no
 * digest of this repository: the image is only on the node, and has nothing that another node could pull.
 */
export function identityOf(image: string, reported: string): ImageIdentity | null {
  const { repository, digest } = REPORTED.exec(reported)?.groups ?? {};
  if (repository === undefined || digest === undefined) return null;
  return fullName(repository) === fullName(repositoryOf(image)) ? identityIn(image, digest) : null;
}

/** Returns one name for a repository: Docker Hub's have several spellings. */
export function fullName(repository: string): string {
  const name = repository.replace(/^(index\.)?docker\.io\//, '');
  const [first, ...rest] = name.split('/');
  const isHub = rest.length === 0 || (!/[.:]/.test(first!) && first !== 'localhost');
  return isHub ? `docker.io/${rest.length === 0 ? `library/${name}` : name}` : name;
}
