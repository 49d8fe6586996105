import { messageOf } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listImagesToPull } from '../../domain/endpoints/images-to-pull.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { bringImage } from '../workloads/bring-image.ts';

const TICK_MS = 3_600_000;

/**
 * Brings the image of an endpoint when it is created or changed, so that its first worker need not wait for it. One at a
 * time, and never at the start of a server: what was there before has been pulled. A pull that fails is told by the
 * worker that needs the image.
 */
export class ImagePuller {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #secretBox: SecretBox;
  readonly #loop: Loop;
  readonly #changed = new Set<EndpointId>();
  #unsubscribe = () => {};

  constructor(options: { pool: Pool; bus: Bus; logger: Logger; runtime: Runtime; secretBox: SecretBox }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#logger = options.logger;
    this.#runtime = options.runtime;
    this.#secretBox = options.secretBox;
    this.#loop = new Loop({
      name: 'pull-ahead',
      tickMs: TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = this.#bus.subscribe('endpoint', (id) => {
      this.#changed.add(id as EndpointId);
      this.#loop.wake();
    });
    this.#loop.start();
  }

  /** Does not wait for a pull under way. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#changed.clear();
    void this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<undefined> {
    const ids = [...this.#changed];
    this.#changed.clear();
    if (ids.length === 0) return undefined;
    for (const wanted of await listImagesToPull(this.#pool, ids)) {
      try {
        await bringImage({ pool: this.#pool, runtime: this.#runtime, secretBox: this.#secretBox }, wanted);
      } catch (error) {
        this.#logger.info({ image: wanted.image }, `the image could not be pulled ahead of need: ${messageOf(error)}`);
      }
    }
    return undefined;
  }
}
