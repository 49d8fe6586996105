import { parseImageReference } from './image-reference.ts';

/** The content that an image's name stood for at a moment. */
export interface ImageIdentity {
  /** Names the content: `sha256:` and 64 hexadecimal digits. */
  digest: string;
  /** The reference with which a runtime runs exactly that: `<name>@<digest>`, or an engine's id of the image. */
  reference: string;
}

/** Returns the image's name without tag and digest, as its user wrote it. */
export function repositoryOf(image: string): string {
  const [named] = image.split('@') as [string];
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return colon === -1 ? named : named.slice(0, colon);
}

/** Returns the identity of what a registry knows by this name and digest. */
export function identityIn(image: string, digest: string): ImageIdentity {
  return { digest, reference: `${repositoryOf(image)}@${digest}` };
}

/** Returns the digest that the name itself fixes; null for one that can move. */
export function digestIn(image: string): string | null {
  const parsed = parseImageReference(image);
  return 'fault' in parsed ? null : parsed.digest;
}
