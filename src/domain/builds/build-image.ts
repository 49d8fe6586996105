import { Failure } from '../../core/errors.ts';
import type { BuildId } from '../../core/ids.ts';

/** The host in the names of built images. No registry has it: such an image is where it was built, or nowhere. */
export const BUILD_HOST = 'builds.podyard.internal';

/** The host in the names that images have while something is built on them. No user may name one. */
export const BASE_HOST = 'bases.podyard.internal';

/** The label of images that container engines built, with the installation. Containers do not get it. */
export const BUILT_LABEL = 'podyard.builder';

/** A build's name, which its image's name contains. */
export const BUILD_NAME = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;
export const MAX_BUILD_NAME_LENGTH = 63;

/** Returns a name as images may have it. */
export function buildNameOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_BUILD_NAME_LENGTH)
    .replaceAll(/^-|-$/g, '');
  return BUILD_NAME.test(slug) ? slug : 'endpoint';
}

/** Returns the name of the image that a build makes. */
export function buildImageOf(name: string, id: BuildId): string {
  return `${BUILD_HOST}/${name}:${id}`;
}

/** True if an image has the host of built ones, whether or not a build has made it. Such a name is never pulled. */
export function isBuildImage(image: string): boolean {
  return image.slice(0, BUILD_HOST.length + 1).toLowerCase() === `${BUILD_HOST}/`;
}

/** Returns the build that an image's name names, or null if it is not the name that a build gives. */
export function buildIdOf(image: string): BuildId | null {
  if (!image.startsWith(`${BUILD_HOST}/`)) return null;
  const [, name = '', id] = /^([^:@]+):([a-z][a-z0-9]{13})$/.exec(image.slice(BUILD_HOST.length + 1)) ?? [];
  return BUILD_NAME.test(name) && name.length <= MAX_BUILD_NAME_LENGTH ? (id as BuildId) : null;
}

/** Why a built image cannot be had: it is where it was built, or nowhere. */
export function lostBuildImage(image: string): Failure {
  const what = buildIdOf(image) === null ? `The image ${image}` : `The image of build ${buildIdOf(image)}`;
  return new Failure('unprocessable', `${what} is not on this machine any more: deploy again.`);
}
