import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type ReleaseFacts, ROOT } from './release-facts.ts';
import { type Entry, fileEntry, textEntry } from './tree/entry.ts';

/**
 * Where a release is published. The checkout names no place: its texts say `<this repository>`, and its images are in no
 * registry, so that nobody else's are pulled. Whoever publishes a release says where:
 *
 *   PODYARD_RELEASE_REPOSITORY   the repository's URL, below which `/releases/download/v<version>/` has the files
 *   PODYARD_RELEASE_REGISTRY     the registry of the image `podyard:<version>`, with its path: registry.example.com/team
 *   PODYARD_RELEASE_MAINTAINER   who answers for the Debian package: Name <address>; default: the author of the commit
 */
const {
  PODYARD_RELEASE_REPOSITORY: repository = '',
  PODYARD_RELEASE_REGISTRY: registry = '',
  PODYARD_RELEASE_MAINTAINER: maintainer = '',
} = process.env;

/** Differs between releases of one checkout to different places; empty for one that names none. */
export const PUBLISHED_KEY =
  repository + registry && createHash('sha256').update(`${repository} ${registry}`).digest('hex').slice(0, 8);

/** True for files of the checkout that may name the places of a release. */
export function namesPlaces(file: string): boolean {
  return /\.md$|^deploy\/compose\.yaml$|^deploy\/helm\/podyard\/values\.yaml$/.test(file);
}

/** Returns a text of the checkout with the places of this release. Throws if a place is not one. */
export function withPublishedNames(text: string, places = { repository, registry }): string {
  const { repository: url, registry: host } = places;
  if (url && !/^https:\/\/[^\s<>]+[^/]$/.test(url))
    throw new Error(`PODYARD_RELEASE_REPOSITORY is '${url}', no https URL`);
  if (host && !/^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9._-]+)*$/.test(host)) {
    throw new Error(`PODYARD_RELEASE_REGISTRY is '${host}', but must be like registry.example.com/team`);
  }
  let filled = url ? text.replaceAll('<this repository>', url) : text;
  if (host) {
    filled = filled
      .replace(/(?<=\$\{PODYARD_REGISTRY:-)[^}]*(?=\}\/\$\{PODYARD_IMAGE:)/, host)
      .replace(/(?<=^image:\n(?: {2}#.*\n)* {2}registry: )""/m, JSON.stringify(host));
  }
  return filled;
}

/** Returns who answers for the Debian package. Throws if PODYARD_RELEASE_MAINTAINER is not as Debian writes it. */
export function maintainerOf({ author }: Pick<ReleaseFacts, 'author'>, chosen = maintainer): string {
  if (chosen && !/^[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>$/.test(chosen)) {
    throw new Error(`PODYARD_RELEASE_MAINTAINER is '${chosen}', but must be like Ada Lovelace <ada@example.com>`);
  }
  return chosen || author;
}

/** Returns a file of the checkout for an artifact, with the places of this release in it. */
export async function sourceEntry(path: string, file: string): Promise<Entry> {
  if (!namesPlaces(file)) return fileEntry(path, `${ROOT}/${file}`);
  return textEntry(path, withPublishedNames(await readFile(`${ROOT}/${file}`, 'utf8')));
}
