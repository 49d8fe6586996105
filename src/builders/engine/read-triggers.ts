import { text } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { Failure } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';

/** For an image of many gigabytes. */
const TIMEOUT_MS = 600_000;
const MAX_CONFIG_BYTES = 4 * 2 ** 20;

/**
 * Returns the triggers (ONBUILD) of an image as Buildah will run them. Podman's answers leave them out, so its export of the image is
 * read, in which the configuration comes after the layers. `id`: without its algorithm.
 */
export async function readTriggers(engine: Engine, id: string, signal: AbortSignal): Promise<string[]> {
  const exported = await engine.stream({ method: 'GET', path: `/images/${id}/get`, timeoutMs: TIMEOUT_MS, signal });
  const archive = extract();
  exported.once('error', (error) => archive.destroy(error));
  exported.pipe(archive);
  try {
    for await (const entry of archive) {
      const { name, size = 0 } = entry.header;
      if (name === `${id}.json` && size <= MAX_CONFIG_BYTES) {
        const { config } = JSON.parse(await text(entry)) as { config?: { OnBuild?: string[] | null } };
        return config?.OnBuild ?? [];
      }
      entry.resume();
    }
  } finally {
    exported.destroy();
    archive.destroy();
  }
  throw new Failure('unavailable', `The container engine did not tell what the image ${id.slice(0, 12)} is made of.`);
}
