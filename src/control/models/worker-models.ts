import { Failure } from '../../core/errors.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import type { ModelUse } from '../../domain/models/pinned-model.ts';
import type { ControlledWorker } from '../../domain/workers/worker-lifecycle.ts';
import type { ModelDoor } from '../../models/nodes/model-door.ts';
import { CACHE_PATH, HUB_PATH, hubFolder } from '../../models/store/model-paths.ts';
import type { ModelStore } from '../../models/store/model-store.ts';
import type { WantedModel } from '../../models/store/stored-model.ts';
import type { CopiedModels, Mount, OnProgress } from '../../runtimes/runtime.ts';
import { openModel } from './open-model.ts';

/** How a worker sees its models. */
interface ShownModels {
  mounts: Mount[];
  /** Variables for an image that does not set them. */
  defaults: Record<string, string>;
  /** The same where nobody knows what the image sets. */
  env: Record<string, string>;
  /** Set where its machine is not this one. */
  copied?: CopiedModels;
}

const NO_MODELS: ShownModels = { mounts: [], defaults: {}, env: {} };

export interface ModelDeps {
  pool: Pool;
  secretBox: SecretBox;
  /** Null: workers of this runtime cannot have models. */
  modelStore: ModelStore | null;
  /** Where the machines of workers get models from this one's store; null: it is their machine. */
  modelDoor: ModelDoor | null;
  runtime: { readonly name: string };
}

/**
 * Fetches the models of workers before they claim a place, like their images, so that no download holds GPUs or is billed. A token
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

  /** Returns how a worker whose models were brought sees them. */
  async show(worker: ControlledWorker): Promise<ShownModels> {
    const { modelStore, modelDoor } = this.#deps;
    if (modelStore === null || usesOf(worker).length === 0) return NO_MODELS;
    if (modelDoor === null) return { ...(await modelStore.mountsOf(worker.id)), env: {} };
    const models = await Promise.all(usesOf(worker).map((use) => this.#find(worker, use)));
    const url = await modelDoor.offer(worker.id, models);
    const repositories = new Set(
      models.filter(({ use }) => use.source === 'HUB').map(({ use }) => hubFolder(use.name)),
    );
    return {
      ...NO_MODELS,
      env: { HF_HUB_CACHE: HUB_PATH, PODYARD_MODEL_CACHE: CACHE_PATH },
      copied: {
        url,
        ids: models.map(({ model }) => model.id),
        bytes: models.reduce((sum, { use }) => sum + use.bytes, 0),
        hub: HUB_PATH,
        folders: [
          ...[...repositories].map((name) => ({ name: `models/${name}`, target: `${HUB_PATH}/${name}` })),
          { name: 'cache', target: CACHE_PATH },
        ],
      },
    };
  }

  /** Called once a worker runs: if its models were copied to its machine, those here may be evicted. Does not throw. */
  async started(worker: Pick<ControlledWorker, 'id'>): Promise<void> {
    if (this.#deps.modelDoor) await this.release(worker);
  }

  /** Called when a worker has ended or does not start: its models may be evicted. Does not throw; `keepModelsLoop` repeats it. */
  async release({ id }: Pick<ControlledWorker, 'id'>): Promise<void> {
    this.#deps.modelDoor?.withdraw(id);
    if (this.#deps.modelStore?.has(id)) await this.#deps.modelStore.release(id).catch(() => {});
  }

  async #find({ userId }: ControlledWorker, use: ModelUse): Promise<WantedModel> {
    return { ...(await openModel(this.#deps, userId, use)), use };
  }
}

function usesOf({ spec }: Pick<ControlledWorker, 'spec'>): readonly ModelUse[] {
  return spec.models ?? [];
}
