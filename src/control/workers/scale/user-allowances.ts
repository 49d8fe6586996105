import { BoundedMap } from '../../../core/bounded-map.ts';
import type { EndpointId, UserId } from '../../../core/ids.ts';
import type { EndpointUser } from '../../../domain/quotas/endpoint-users.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { ScalingDecision } from '../../../scaling/decide-workers.ts';
import type { UserCut } from '../../../scaling/situation.ts';
import { cutByUser } from '../../../scaling/user-allowance.ts';

interface Added {
  userId: UserId;
  workers: number;
  gpus: number;
}

type Held = Pick<ControlledWorker, 'wanted' | 'gpuCount'>;

const NOTHING = { workers: 0, gpus: 0 };
const MAX_CUT = 10_000;

/**
 * How many workers the limits of its user leave an endpoint. Workers whose start is being written count already: nothing else
 * adds workers, so a limit holds although many endpoints are decided on at once. They may count twice, as long as they are in
 * the database and still count here; never less than once.
 */
export class UserAllowances {
  readonly #adding = new Map<UserId, Omit<Added, 'userId'>>();
  /** Written since a read in progress began, or since the last one did; and how many reads had begun by then. */
  #written: (Added & { reads: number })[] = [];
  /** Reads in progress, by their number. */
  readonly #reading = new Set<number>();
  #reads = 0;
  /** Endpoints that a limit of their user cuts, with its name. */
  readonly #cut = new BoundedMap<EndpointId, UserCut['name']>(MAX_CUT);

  /**
   * Begins a read of users: it finds the workers that were written before, so they no longer count here, unless a read in progress began
   * earlier. The returned function ends it.
   */
  beginRead(): () => void {
    this.#reads += 1;
    const read = this.#reads;
    this.#reading.add(read);
    this.#dropFound();
    return () => {
      this.#reading.delete(read);
      this.#dropFound();
    };
  }

  /** Returns the user's limit that leaves an endpoint with `own` workers fewer than `max`; null if none does. */
  cut(user: EndpointUser, max: number, own: readonly Held[]): UserCut | null {
    const adding = this.#adding.get(user.userId) ?? NOTHING;
    const holding = own.filter(({ wanted }) => wanted !== 'FREEZE');
    const gpus = holding.reduce((sum, { gpuCount }) => sum + gpuCount, 0);
    const used = { workers: user.workers + adding.workers, gpus: user.gpus + adding.gpus };
    return cutByUser(max, { workers: holding.length, gpus }, { ...user, ...used });
  }

  /** True while workers of the user may count twice: what they leave is not certain. */
  isAdding({ userId }: EndpointUser): boolean {
    return this.#adding.has(userId);
  }

  /** Counts the workers that a decision adds. The returned function says that they are written. */
  add({ userId, gpusPerWorker }: EndpointUser, { actions }: Pick<ScalingDecision, 'actions'>): () => void {
    const workers = actions.filter(({ kind }) => kind === 'start' || kind === 'thaw').length;
    if (workers === 0) return () => {};
    const added = { userId, workers, gpus: workers * gpusPerWorker };
    this.#change(userId, added);
    return () => this.#written.push({ ...added, reads: this.#reads });
  }

  /** True when a limit begins to keep the endpoint from more workers: that is recorded, although it changes nothing. */
  isNews(id: EndpointId, { inputs: { userCut } }: ScalingDecision): boolean {
    const before = this.#cut.get(id);
    if (userCut) this.#cut.set(id, userCut.name);
    else this.#cut.delete(id);
    return userCut !== undefined && userCut.name !== before;
  }

  /** Drops workers that all reads in progress find. */
  #dropFound(): void {
    const oldest = Math.min(...this.#reading);
    const isFound = ({ reads }: { reads: number }) => reads < oldest;
    for (const { userId, workers, gpus } of this.#written.filter(isFound)) {
      this.#change(userId, { workers: -workers, gpus: -gpus });
    }
    this.#written = this.#written.filter((one) => !isFound(one));
  }

  #change(userId: UserId, by: Omit<Added, 'userId'>): void {
    const before = this.#adding.get(userId) ?? NOTHING;
    const after = { workers: before.workers + by.workers, gpus: before.gpus + by.gpus };
    if (after.workers === 0 && after.gpus === 0) this.#adding.delete(userId);
    else this.#adding.set(userId, after);
  }
}
