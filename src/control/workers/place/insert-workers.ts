import type { Clock } from '../../../core/clock.ts';
import { Batcher } from '../../../core/flow/batcher.ts';
import type { UserId, WorkerId } from '../../../core/ids.ts';
import type { NewWorker } from '../../../domain/workers/insert-workers.ts';
import { insertStarting } from '../../../domain/workers/mark-starting.ts';
import type { PlaceWish } from '../../../domain/workers/place-wish.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { WorkerImages } from '../run/worker-images.ts';
import { type Claim, newClaim } from './claim.ts';
import { placeAtOnce } from './place-workers.ts';
import type { PlacementDeps } from './waiting-workers.ts';

/** A worker to insert. `wish`: its needs, and the release that has them; null: its place is found once it is inserted. */
export interface WantedWorker extends Omit<NewWorker, 'place'> {
  wish: (PlaceWish & { userId: UserId; version: number }) | null;
}

type Inserted = { worker: ControlledWorker; claim: Claim | null };

interface InserterDeps extends PlacementDeps {
  clock: Clock;
  images: Pick<WorkerImages, 'findPresent'>;
  /** Reads users' SSH public keys. */
  publicKeys: Batcher<UserId, string>;
}

/**
 * Inserts new workers with their places: these are chosen in memory, and one transaction confirms them. Where a worker needs
 * more than its wish, or there are too few GPUs for all, workers are inserted without, and find their places one step later.
 */
export class WorkerInserter {
  readonly #deps: InserterDeps;
  readonly #batches: Batcher<WantedWorker, Inserted | undefined>;
  readonly #inserting = new Set<WorkerId>();

  constructor(deps: InserterDeps) {
    this.#deps = deps;
    const flush = (workers: readonly WantedWorker[]) => this.#insertAll(workers);
    this.#batches = new Batcher({ lanes: 2, maxSize: 500, isCallFault: () => false, flush });
  }

  /** False: its endpoint is gone. `onInserted` gets its row, and the place that it has taken; null: it is PENDING. */
  async insert(
    wanted: WantedWorker,
    onInserted: (worker: ControlledWorker, claim: Claim | null) => void,
  ): Promise<boolean> {
    this.#inserting.add(wanted.id);
    try {
      const inserted = await this.#batches.run(wanted);
      if (inserted) onInserted(inserted.worker, inserted.claim);
      return inserted !== undefined;
    } finally {
      this.#inserting.delete(wanted.id);
    }
  }

  /** True until `onInserted` has been called: a row that is read before says STARTING, although nobody starts it yet. */
  isInserting(id: WorkerId): boolean {
    return this.#inserting.has(id);
  }

  async #insertAll(wanted: readonly WantedWorker[]): Promise<(Inserted | undefined)[]> {
    const { pool, capacity } = this.#deps;
    const claims = await this.#claim(wanted);
    const workers = wanted.map(({ wish, ...worker }) => {
      const claim = claims.get(worker.id);
      const place = claim && {
        ...claim.place,
        version: wish!.version,
        tokenHash: claim.tokenHash,
        keyHash: claim.keyHash,
      };
      return { ...worker, gpuCount: wish?.gpu.count ?? 0, place: place ?? null };
    });
    const heldByOthers = (ids: ReadonlySet<string>) => capacity.heldByOthers(ids);
    let taken = 0;
    try {
      const rows = await insertStarting(pool, workers, { gpus: capacity.machine.gpus, heldByOthers });
      const inserted = new Map(rows.map((worker) => [worker.id, worker]));
      return wanted.map(({ id }) => {
        const worker = inserted.get(id);
        const claim = worker?.phase === 'STARTING' ? claims.get(id)! : null;
        if (claim) taken += 1;
        return worker && { worker, claim };
      });
    } finally {
      for (const id of claims.keys()) capacity.settle(id);
      if (taken < claims.size) capacity.expire(); // who has the others is in the table
    }
  }

  /** Chooses places for those whose images are there. */
  async #claim(wanted: readonly WantedWorker[]): Promise<Map<WorkerId, Claim>> {
    const { images, publicKeys, clock } = this.#deps;
    const now = clock.now();
    const wishes = wanted.flatMap(({ wish, pause, ...worker }) => (wish && !pause ? { ...wish, ...worker } : []));
    const placed = await placeAtOnce(this.#deps, await images.findPresent(wishes), now);
    const claims = wishes.flatMap(({ id, userId, hasKey }): [WorkerId, Claim][] => {
      const place = placed.get(id);
      return place ? [[id, newClaim(place, { hasKey, publicKeys: publicKeys.run(userId) })]] : [];
    });
    return new Map(claims);
  }
}
