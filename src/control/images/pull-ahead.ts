import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  doWorkersPull,
  type ImageToPull,
  listEndpointsToPull,
  listImagesToPull,
} from '../../domain/endpoints/images-to-pull.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import type { ReleaseImages } from '../workloads/release-images.ts';
import { decidePull } from './decide-pull.ts';

/** How often the images of all endpoints are looked after: one may be gone, or a node new. */
const TICK_MS = 3_600_000;
/** Endpoints whose images are read together, and are one pull if they are the same. */
const PAGE = 200;
/** Whether workers pull, and how full the disk is, is asked again before the first pull after this time. */
const FACTS_MS = 1_000;

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
  #queue = new Set<EndpointId>();
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
          `${this.#queue.size} images are not pulled ahead now: ${step.wait}`,
        );
        return { inMs: step.inMs };
      }
      await this.#pullSome();
    }
    return undefined;
  }

  /** Those that changed come first. */
  async #fillQueue(): Promise<void> {
    const now = performance.now();
    if (now - this.#filledAt >= TICK_MS) {
      const all = await listEndpointsToPull(this.#deps.pool);
      this.#filledAt = now;
      for (const id of all) this.#queue.add(id);
    }
    if (this.#changed.size === 0) return;
    this.#queue = new Set([...this.#changed, ...this.#queue]);
    this.#changed.clear();
  }

  async #readFacts() {
    if (this.#queue.size === 0) return { doWorkersPull: false, disk: null };
    const { pool, runtime } = this.#deps;
    const [isBusy, disk] = await Promise.all([doWorkersPull(pool), runtime.imageDisk?.() ?? null]);
    return { doWorkersPull: isBusy, disk };
  }

  /** Pulls the images of the first endpoints in the queue, one image after another, until the facts have to be read again. */
  async #pullSome(): Promise<void> {
    const untilMs = performance.now() + FACTS_MS;
    const ids = [...this.#queue].slice(0, PAGE);
    const wanted = await listImagesToPull(this.#deps.pool, ids);
    const known = new Set(wanted.map(({ endpointId }) => endpointId));
    for (const id of ids) if (!known.has(id)) this.#queue.delete(id);
    const keyOf = this.#deps.runtime.pullAhead ? ({ endpointId }: ImageToPull) => endpointId : keyOfImage;
    for (const same of Map.groupBy(wanted, keyOf).values()) {
      if (this.#stopped.signal.aborted || performance.now() > untilMs) return;
      for (const { endpointId } of same) this.#queue.delete(endpointId);
      await this.#pull(same);
    }
  }

  /** Pulls one image on one machine: with several, its endpoint stays in the queue until none is left, behind the others. */
  async #pull(same: readonly ImageToPull[]): Promise<void> {
    const { runtime, releaseImages, logger } = this.#deps;
    const { endpointId, image: name, gpuPools, dataCenterIds } = same[0]!;
    this.#isPulling = true;
    try {
      const registry = await releaseImages.bringAll(same);
      if (!runtime.pullAhead) return;
      const image = (await releaseImages.find(same[0]!))?.reference ?? name;
      const hasPulled = await runtime.pullAhead({ image, registry, gpuPools, dataCenterIds }, this.#stopped.signal);
      if (hasPulled) this.#queue.add(endpointId);
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      logger.info({ image: name, err: error }, `pull ahead failed: ${messageOf(error)}`);
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

/** The same for endpoints whose image is one pull. */
function keyOfImage({ userId, image, registryId }: ImageToPull): string {
  return JSON.stringify([userId, image, registryId]);
}
