import { messageOf } from '../../core/errors.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { hasImagesToPull, listImagesToPull } from '../../domain/endpoints/images-to-pull.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import type { ReleaseImages } from '../workloads/release-images.ts';

const TICK_MS = 3_600_000;

interface PullDeps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  runtime: Runtime;
  releaseImages: ReleaseImages;
}

/**
 * Resolves and pulls the image of an endpoint that was created or changed, so that its first worker need not wait for it. One image at a
 * time, and none when the server starts: they were pulled before. A failed pull is only logged; the worker that needs the
 * image reports it. Where there are endpoints, the runtime prepares for starts.
 */
export class ImagePuller {
  readonly #deps: PullDeps;
  readonly #loop: Loop;
  readonly #changed = new Set<EndpointId>();
  #isPulling = false;
  #isStopped = false;
  #isExpecting = false;

  constructor(deps: PullDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      name: 'pull-ahead',
      tickMs: TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => {
        const pull = (id: string) => {
          this.#changed.add(id as EndpointId);
          wake();
        };
        return [deps.bus.subscribe('endpoint', pull)];
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Waits for what reads the database, which may be gone next, but not for a pull in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const stopped = this.#loop.stop();
    this.#changed.clear();
    if (!this.#isPulling) await stopped;
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<undefined> {
    await this.#expectStarts();
    const ids = [...this.#changed];
    this.#changed.clear();
    if (ids.length === 0) return undefined;
    for (const wanted of await listImagesToPull(this.#deps.pool, ids)) {
      if (this.#isStopped) return undefined;
      this.#isPulling = true;
      try {
        await this.#deps.releaseImages.bring(wanted);
      } catch (error) {
        this.#deps.logger.info({ image: wanted.image, err: error }, `pull ahead failed: ${messageOf(error)}`);
      } finally {
        this.#isPulling = false;
      }
    }
    return undefined;
  }

  async #expectStarts(): Promise<void> {
    const { pool, runtime } = this.#deps;
    if (this.#isExpecting || !(await hasImagesToPull(pool))) return;
    this.#isExpecting = true;
    runtime.expectStarts?.();
  }
}
