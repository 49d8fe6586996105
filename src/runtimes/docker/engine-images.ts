import { InFlight } from '../in-flight.ts';
import type { OnProgress, RegistryAuth } from '../runtime.ts';
import { type Engine, isRefusal } from './engine.ts';
import { pullImage } from './pull-image.ts';

/** The images of the engine. */
export class EngineImages {
  readonly #engine: Engine;
  readonly #pulls = new InFlight();
  readonly #present = new Set<string>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** See `Runtime.prepare`. */
  async prepare(image: string, options: { auth?: RegistryAuth; onProgress?: OnProgress }): Promise<void> {
    if (this.#present.has(image)) return;
    // Two users' credentials must not share a pull: one may have the right and the other not.
    const key = JSON.stringify([image, options.auth?.username, options.auth?.password]);
    await this.#pulls.run(key, async () => {
      if (!(await this.#isPresent(image))) await pullImage(this.#engine, image, options);
      this.#present.add(image);
    });
  }

  /** It turned out to be gone: the next `prepare` looks again. */
  forget(image: string): void {
    this.#present.delete(image);
  }

  async #isPresent(image: string): Promise<boolean> {
    try {
      await this.#engine.json({ method: 'GET', path: `/images/${image}/json` });
      return true;
    } catch (error) {
      // 400: not a name of an image at all; the pull says so better
      if (isRefusal(error, 404) || isRefusal(error, 400)) return false;
      throw error;
    }
  }
}
