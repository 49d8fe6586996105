/**
 * Built images that a cluster's nodes pull: all of an installation are in one repository, each under a tag that names its build.
 * Records keep the name that the build gave (build-image.ts).
 */

import { BUILD_HOST, buildIdOf, isBuildImage } from '../builds/build-image.ts';
import { identityIn, repositoryOf } from './image-identity.ts';

export interface BuildRegistry {
  /** As in the names of images: `registry.example.com:5000`. */
  host: string;
  repository: string;
  /** Null: the registry is open. */
  auth: { username: string; password: string } | null;
}

/** Returns the tag of a built image: `<installation>.<name>.<build>`, at most 93 of the 128 characters that a tag may have. */
export function buildTagOf(image: string, installation: string): string | null {
  const id = buildIdOf(image);
  return id && `${installation}.${image.slice(BUILD_HOST.length + 1, -id.length - 1)}.${id}`;
}

/** Returns the image that `buildTagOf` gave the tag; null for tags of others. */
export function imageOfBuildTag(tag: string, installation: string): string | null {
  if (!tag.startsWith(`${installation}.`)) return null;
  const rest = tag.slice(installation.length + 1);
  const dot = rest.lastIndexOf('.');
  const image = `${BUILD_HOST}/${rest.slice(0, dot)}:${rest.slice(dot + 1)}`;
  return buildIdOf(image) === null ? null : image;
}

/** Returns the name by which a node pulls an image, built ones with their digest or tag; null: no node has a name for it. */
export function pulledName(image: string, registry: BuildRegistry | null, installation: string): string | null {
  if (!isBuildImage(image)) return image;
  if (registry === null) return null;
  const name = `${registry.host}/${registry.repository}`;
  const [, digest] = image.split('@');
  if (digest !== undefined) return identityIn(name, digest).reference;
  const tag = buildTagOf(image, installation);
  return tag === null ? null : `${repositoryOf(name)}:${tag}`;
}
