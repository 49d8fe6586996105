import { BoundedMap } from '../../core/bounded-map.ts';
import { monotonicClock } from '../../core/clock.ts';
import { Failure, messageOf } from '../../core/errors.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { moveImage } from '../../domain/releases/move-image.ts';
import {
  type AskedImage,
  listAskedImages,
  settleAsked,
  updateImageProblem,
} from '../../domain/releases/release-images.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { bringImage } from '../workloads/bring-image.ts';
import type { ReleaseImages } from '../workloads/release-images.ts';

const TICK_MS = 60_000;
/** A long pull keeps no other endpoint waiting, and no user has more in progress than there is room for others. */
const CONCURRENT = 8;
/** While a registry is away: how often it is asked, and for how long. */
const RETRY_MS = 55_000;
const GIVEN_UP_AFTER_MS = 3_600_000;
const MAX_RETRIES = 1_000;

interface ResolverDeps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  runtime: Runtime;
  secretBox: SecretBox;
  releaseImages: ReleaseImages;
}

/**
 * Resolves the names of images anew that an update named again. A name that stands for something else makes a release;
 * one that cannot be resolved is a problem of the release, whose workers go on.
 */
export class ImageResolver {
  readonly #deps: ResolverDeps;
  readonly #loop: Loop;
  readonly #inProgress = new Map<string, { userId: UserId; done: Promise<void> }>();
  readonly #retryAt = new BoundedMap<string, number>(MAX_RETRIES);

  constructor(deps: ResolverDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      name: 'resolve-images',
      tickMs: TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [deps.bus.subscribe('endpoint', wake)],
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Does not wait for pulls in progress: their requests stay in the database, and the next leader resolves them. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Resolves all that are asked for, for tests. */
  async runOnce(): Promise<void> {
    await this.#loop.runOnce();
    await Promise.all([...this.#inProgress.values()].map(({ done }) => done));
  }

  async #run(): Promise<undefined> {
    const now = monotonicClock.now();
    const asked = await listAskedImages(this.#deps.pool, CONCURRENT + this.#inProgress.size + this.#retryAt.size);
    for (const one of asked) {
      const key = `${one.endpointId}/${one.version}`;
      if (this.#inProgress.has(key) || !this.#hasRoomFor(one)) continue;
      if ((this.#retryAt.get(key) ?? 0) > now) continue;
      this.#retryAt.delete(key);
      const done = this.#resolve(one, key).finally(() => {
        this.#inProgress.delete(key);
        this.#loop.wake(); // others may wait, or it was asked for again
      });
      this.#inProgress.set(key, { userId: one.userId, done });
    }
    return undefined;
  }

  #hasRoomFor({ userId }: AskedImage): boolean {
    const ofUser = [...this.#inProgress.values()].filter((other) => other.userId === userId).length;
    return ofUser < CONCURRENT - this.#inProgress.size;
  }

  /** Never rejects. A request that was not settled stays, and is tried again later. */
  async #resolve(asked: AskedImage, key: string): Promise<void> {
    const { pool, logger } = this.#deps;
    const fields = { endpointId: asked.endpointId, version: asked.version, image: asked.image };
    try {
      await this.#answer(asked);
      await settleAsked(pool, asked, null);
    } catch (error) {
      this.#retryAt.set(key, monotonicClock.now() + RETRY_MS);
      logger.info({ ...fields, err: error }, `image not resolved: ${messageOf(error)}`);
      if (!(error instanceof Failure)) return;
      const isPassing = error.kind === 'unavailable' && asked.waitedMs < GIVEN_UP_AFTER_MS;
      const record = isPassing
        ? updateImageProblem(pool, asked, error.message)
        : settleAsked(pool, asked, error.message);
      await record.catch((failure) => logger.warn({ ...fields, err: failure }, 'image problem not stored'));
    }
  }

  async #answer(asked: AskedImage): Promise<void> {
    const { identity: pinned, endpointId, version, userId } = asked;
    const options = { resolve: 'in registry' as const, ...(pinned && { pinned }) };
    const { identity } = await bringImage(this.#deps, asked, options);
    if (identity === null) return; // nobody knows before a worker runs
    if (pinned === null) await this.#deps.releaseImages.settle({ endpointId, version }, identity);
    else await change(this.#deps, systemActor(userId), moveImage, { id: endpointId, version, identity });
  }
}
