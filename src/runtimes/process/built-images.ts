import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildIdOf, lostBuildImage } from '../../domain/builds/build-image.ts';
import type { ProcessImage } from './images-file.ts';

/**
 * Finds an image that a build made (builders/processes/process-builder.ts), with its digest; undefined for the name of any other
 * image. Throws `unprocessable` if it is not here any more.
 */
export function findBuiltImage(root: string, image: string): (ProcessImage & { digest: string }) | undefined {
  const buildId = buildIdOf(image);
  if (buildId === null) return undefined;
  let text: string;
  try {
    text = readFileSync(join(root, buildId, 'image.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw lostBuildImage(image);
  }
  const { command, digest } = JSON.parse(text) as { command: string[]; digest: string };
  return { command, digest, directory: join(root, buildId, 'files') };
}
