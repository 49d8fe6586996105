import { Failure } from '../../core/errors.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import type { ModelUse } from '../../domain/models/pinned-model.ts';
import type { ControlledWorker } from '../../domain/workers/worker-lifecycle.ts';
import type { ModelStore } from '../../models/store/model-store.ts';
import type { WantedModel } from '../../models/store/stored-model.ts';
import type { Mount, OnProgress } from '../../runtimes/runtime.ts';
import { openModel } from './open-model.ts';

const NO_MODELS: { mounts: Mount[]; defaults: Record<string, string> } = { mounts: [], defaults: {} };

export interface ModelDeps {
  pool: Pool;
  secretBox: SecretBox;
  /** Null: workers of this runtime cannot have models. */
  modelStore: ModelStore | null;
  runtime: { readonly name: string };
}

/**
 * Brings the models of workers before they claim a place, as their images, so that no download holds GPUs or is billed. A token
 * reaches its origin and nothing else.
 */
export class WorkerModels {
  readonly #deps: ModelDeps;

  constructor(deps: ModelDeps) {
    this.#deps = deps;
  }

  /** True when a worker's models were brought for it, or it has none. */
  arePresent(worker: ControlledWorker): boolean {
    return usesOf(worker).length === 0 || this.#deps.modelStore?.has(worker.id) === true;
  }

  /** Fetches what is missing. Throws a sentence for users that names the model. */
  async bring(worker: ControlledWorker, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
    if (this.arePresent(worker)) return;
    const { modelStore, runtime } = this.#deps;
    if (modelStore === null) {
      const text = `workers of the ${runtime.name} runtime cannot have models: put '${usesOf(worker)[0]!.name}' into the image or on a network volume`;
      throw new Failure('unprocessable', text);
    }
    const models = await Promise.all(usesOf(worker).map((use) => this.#find(worker, use)));
    await modelStore.bring(models, { userId: worker.userId, workerId: worker.id, onProgress, signal });
  }

  /** Returns the mounts of a worker whose models were brought, and variables for an image that does not set them. */
  async mountsOf(worker: ControlledWorker): Promise<typeof NO_MODELS> {
    const { modelStore } = this.#deps;
    return modelStore === null || usesOf(worker).length === 0 ? NO_MODELS : modelStore.mountsOf(worker.id);
  }

  /** A worker has ended, or does not start: its models may leave. Does not throw, and is done again by `keepModelsLoop`. */
  async release({ id }: Pick<ControlledWorker, 'id'>): Promise<void> {
    if (this.#deps.modelStore?.has(id)) await this.#deps.modelStore.release(id).catch(() => {});
  }

  async #find({ userId }: ControlledWorker, use: ModelUse): Promise<WantedModel> {
    return { ...(await openModel(this.#deps, userId, use)), use };
  }
}

function usesOf({ spec }: Pick<ControlledWorker, 'spec'>): readonly ModelUse[] {
  return spec.models ?? [];
}
