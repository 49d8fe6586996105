import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import { type ModelOrder, markFetchFailed } from '../../domain/machine-models/machine-model-store.ts';
import type { ModelStore } from '../../models/store/model-store.ts';
import { openModel } from './open-model.ts';

interface Deps {
  pool: Pool;
  secretBox: SecretBox;
  modelStore: ModelStore;
  logger: Logger;
  /** Called when a fetch has ended. */
  onEnd: () => void;
}

/** Fetches the models that admins want to have before a start needs them. */
export class ModelsAhead {
  readonly #deps: Deps;
  readonly #running = new Map<string, { controller: AbortController; ended: Promise<void> }>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Begins the fetches that are wanted and not running, and ends those that are not wanted any more. Does not wait for any. */
  async follow(orders: readonly ModelOrder[]): Promise<void> {
    const wanted = orders.filter(
      ({ wantedBy, isStored, problem }) => wantedBy !== null && !isStored && problem === null,
    );
    for (const order of wanted) {
      if (!this.#running.has(order.id)) this.#begin(order, order.wantedBy!);
    }
    for (const [id, { controller, ended }] of this.#running) {
      if (wanted.some((order) => order.id === id)) continue;
      controller.abort(new Error('the fetch was cancelled'));
      await ended;
    }
  }

  /** Ends all fetches. What was fetched stays, and the next leader continues from there. */
  stop(): void {
    for (const { controller } of this.#running.values()) controller.abort(new Error('this server stops'));
  }

  #begin(order: ModelOrder, userId: UserId): void {
    const controller = new AbortController();
    const ended = this.#fetch(order, userId, controller.signal).finally(() => {
      this.#running.delete(order.id);
      this.#deps.onEnd();
    });
    this.#running.set(order.id, { controller, ended });
  }

  async #fetch({ id, tokenSecret }: ModelOrder, userId: UserId, signal: AbortSignal): Promise<void> {
    const { pool, modelStore, logger } = this.#deps;
    try {
      const { model, token } = await openModel(this.#deps, userId, { id, name: id, tokenSecret });
      const { source, name, commit } = model;
      const use = { id, source, name, commit, revision: null, bytes: 0, tokenSecret };
      await modelStore.fetch({ model, use, token }, { userId, onProgress: () => {}, signal });
      logger.info({ modelId: id }, 'model fetched ahead');
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ modelId: id, err: error }, 'model not fetched');
      const problem = error instanceof Failure ? error.message : 'it could not be fetched: the server’s log says why';
      await markFetchFailed(pool, id, problem).catch(() => {}); // tried again at the next tick
    }
  }
}
