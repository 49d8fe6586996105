import type { EndpointId } from '../../../core/ids.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { Reservation } from '../../../scaling/sharing.ts';
import type { Place } from './claim.ts';

/** By then the worker that they were left for has taken them, or needs them no more. */
const KEPT_MS = 10_000;

/**
 * GPUs that a worker has just left for an endpoint, kept for that endpoint for a moment. In memory: after a change of the
 * leader they go to the next in turn.
 */
export class ReservedGpus {
  #reservations: (Reservation & { until: number })[] = [];

  /** Keeps what an ended worker had for an endpoint. `now` is monotonic. */
  keep(worker: ControlledWorker, endpointId: EndpointId, now: number): void {
    const { gpuPool, gpuTypeId, dataCenterId, gpuCount } = worker;
    if (gpuPool === null || dataCenterId === null) return;
    const until = now + KEPT_MS;
    this.#reservations.push({ endpointId, pool: gpuPool, gpuTypeId, dataCenterId, count: gpuCount, until });
  }

  /** Returns what is kept now. */
  list(now: number): readonly Reservation[] {
    this.#reservations = this.#reservations.filter(({ until }) => until > now);
    return this.#reservations;
  }

  /** A worker of the endpoint has taken GPUs. */
  use(endpointId: EndpointId, place: Place, count: number): void {
    const kept = this.#reservations.find(
      (one) => one.endpointId === endpointId && one.pool === place.pool && one.dataCenterId === place.dataCenterId,
    );
    if (!kept) return;
    kept.count -= count;
    if (kept.count <= 0) this.#reservations = this.#reservations.filter((one) => one !== kept);
  }
}
