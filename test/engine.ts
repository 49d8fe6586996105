import Docker from 'dockerode';
import { kindOf } from '../src/engine/engine-kind.ts';

/** The container engine of this machine. */
export const docker = new Docker();

/** docker-runtime.docker.test.ts reports when there is none. */
export const hasEngine = await docker.ping().then(
  () => true,
  () => false,
);

/** The kind of the engine. */
export const engineKind = hasEngine ? kindOf(await docker.version()) : null;

/** Podman refuses a request when an image that it reads for it goes meanwhile, as one of a test beside: it is made again. */
export async function whileImagesGo<T>(request: () => Promise<T>): Promise<T> {
  for (let left = 10; ; left--) {
    try {
      return await request();
    } catch (error) {
      if (left === 1 || !/image not known/.test(String(error))) throw error;
    }
  }
}
