import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { doWorkersPull, findImageToPull, listEndpointsToPull } from '../../domain/endpoints/images-to-pull.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import type { ReleaseImages } from '../workloads/release-images.ts';
import { decidePull } from './decide-pull.ts';

/** How often the images of all endpoints are looked after: one may be gone, or a node new. */
const TICK_MS = 3_600_000;

interface PullDeps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  runtime: Runtime;
  releaseImages: ReleaseImages;
  /** False: the operator wants no pulls ahead. */
  isOn: boolean;
}

/**
 * Resolves and pulls the images of endpoints before their workers need them, on every machine that could run those: of one that was created or
 * changed at once, of all when the server starts and at a slow tick. A failed pull is only logged; the worker that needs the image reports it. Where
 * there are endpoints, the runtime prepares for starts. See docs/decisions/0137-images-ahead.md.
 */
export class ImagePuller {
  readonly #deps: PullDeps;
  readonly #loop: Loop;
  readonly #changed = new Set<EndpointId>();
  #queue: EndpointId[] = [];
  #filledAt = Number.NEGATIVE_INFINITY;
  readonly #stopped = new AbortController();
  #isPulling = false;
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
    this.#stopped.abort();
    const stopped = this.#loop.stop();
    if (!this.#isPulling) await stopped;
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    await this.#expectStarts();
    if (!this.#deps.isOn) return undefined;
    while (!this.#stopped.signal.aborted) {
      await this.#fillQueue();
      const step = decidePull(this.#queue, await this.#readFacts());
      if (step === 'done') return undefined;
      if ('wait' in step) {
        this.#deps.logger.debug(
          { pauseMs: step.inMs },
          `${this.#queue.length} images are not pulled ahead now: ${step.wait}`,
        );
        return { inMs: step.inMs };
      }
      await this.#pull(step.pull);
    }
    return undefined;
  }

  /** Those that changed come first. */
  async #fillQueue(): Promise<void> {
    const now = performance.now();
    if (now - this.#filledAt >= TICK_MS) {
      const all = await listEndpointsToPull(this.#deps.pool);
      this.#filledAt = now;
      this.#queue = [...new Set([...this.#queue, ...all])];
    }
    if (this.#changed.size === 0) return;
    this.#queue = [...new Set([...this.#changed, ...this.#queue])];
    this.#changed.clear();
  }

  async #readFacts() {
    if (this.#queue.length === 0) return { doWorkersPull: false, disk: null };
    const { pool, runtime } = this.#deps;
    const [isBusy, disk] = await Promise.all([doWorkersPull(pool), runtime.imageDisk?.() ?? null]);
    return { doWorkersPull: isBusy, disk };
  }

  /** Pulls on one machine: with several, the endpoint stays in the queue until none is left, behind the others. */
  async #pull(id: EndpointId): Promise<void> {
    const { pool, runtime, releaseImages, logger } = this.#deps;
    this.#queue = this.#queue.filter((one) => one !== id);
    const wanted = await findImageToPull(pool, id);
    if (wanted === null || this.#stopped.signal.aborted) return;
    this.#isPulling = true;
    try {
      const registry = await releaseImages.bring(wanted);
      if (!runtime.pullAhead) return;
      const image = (await releaseImages.find(wanted))?.reference ?? wanted.image;
      const { gpuPools, dataCenterIds } = wanted;
      const hasPulled = await runtime.pullAhead({ image, registry, gpuPools, dataCenterIds }, this.#stopped.signal);
      if (hasPulled) this.#queue.push(id);
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      logger.info({ image: wanted.image, err: error }, `pull ahead failed: ${messageOf(error)}`);
    } finally {
      this.#isPulling = false;
    }
  }

  async #expectStarts(): Promise<void> {
    const { pool, runtime } = this.#deps;
    if (this.#isExpecting || (await listEndpointsToPull(pool, 1)).length === 0) return;
    this.#isExpecting = true;
    runtime.expectStarts?.();
  }
}
