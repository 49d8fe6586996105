import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint } from '../records/kinds.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';

const POLL_MS = 250;
/** A registry answers in seconds; a new image may have to be pulled first. */
const PATIENCE_MS = 10_000;
const PATIENCE_OF_WAIT_MS = 600_000;
const SHOWN_DIGITS = 12;

/** Returns `sha256:` and the first digits of a digest. */
export function shortDigest(digest: string | null | undefined): string {
  return digest ? digest.slice(0, 'sha256:'.length + SHOWN_DIGITS) : '-';
}

type Image = Schemas['ReleaseImage'];

export async function readImages(client: ApiClient, id: string): Promise<Image[]> {
  return (await client.call('get', '/v2/serverless/{id}/release-images', { path: { id } })).images;
}

/**
 * After an update that named the image that was there: waits until the server has found out what the name stands for now, and
 * says whether that made a release. `before`: the images before the update. `isAll`: it changed nothing else.
 */
export async function noteImage(
  client: ApiClient,
  { id, name }: Pick<Endpoint, 'id' | 'name'>,
  { before, wait, isAll }: { before: readonly Image[]; wait: boolean; isAll: boolean },
  output: CliOutput,
): Promise<void> {
  const until = performance.now() + (wait ? PATIENCE_OF_WAIT_MS : PATIENCE_MS);
  let after = await readImages(client, id);
  while (after.some(({ isResolving }) => isResolving) && performance.now() < until) {
    await sleep(POLL_MS);
    after = await readImages(client, id);
  }
  if (before[0] && after[0])
    output.note(newsOf(name, before[0], after[0], { isAll, isKnown: !after.some(isResolving) }));
}

function isResolving(image: Image): boolean {
  return image.isResolving;
}

/** `before` and `after`: of the newest release. */
export function newsOf(
  name: string,
  before: Image,
  after: Image,
  { isAll, isKnown }: { isAll: boolean; isKnown: boolean },
): string {
  const { image, version, digest, problem } = after;
  if (before.digest !== null && digest !== null && before.digest !== digest) {
    return `Release ${version}: ${image} names ${shortDigest(digest)}, before ${shortDigest(before.digest)}.`;
  }
  if (problem !== null) return `${image} could not be resolved anew: ${problem}`;
  if (!isKnown) {
    return `It is not known yet what ${image} names now: if it is something else, \`podyard releases ${name}\` shows a release.`;
  }
  const what = isAll && before.version === version ? 'Nothing changed' : 'The image is the same';
  return digest === null ? `${what}.` : `${what}: ${image} names ${shortDigest(digest)} as before.`;
}
