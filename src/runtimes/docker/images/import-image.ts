import { Failure } from '../../../core/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { type TarEntry, tar } from './tar.ts';

/** Makes an image of these files. Podman ignores a tag that is not part of `name`, so it names both: `podyard/tool:1`. */
export async function importImage(engine: Engine, name: string, files: readonly TarEntry[]): Promise<void> {
  const archive = Buffer.concat([...tar(files)]);
  const query = { fromSrc: '-', repo: name };
  const answer = await engine.stream({ method: 'POST', path: '/images/create', query, archive });
  const said = Buffer.concat(await answer.toArray()).toString();
  if (/"error"/.test(said)) throw new Failure('unavailable', `The container engine cannot import an image: ${said}`);
}
