import { BoundedMap } from '../../../core/bounded-map.ts';
import type { EndpointId } from '../../../core/ids.ts';
import type { Pool } from '../../../db/pool.ts';
import { listPastStarts } from '../../../domain/workers/placement-facts.ts';
import { NO_FAILURES, type StartRecord, startRecordOf } from '../../../scaling/start-record.ts';

/** A start that succeeds is noticed after this at the latest; one that fails, at once. */
const TTL_MS = 5_000;
const MAX_CACHED = 20_000;

/** Records of the last starts of endpoints that wait for capacity, cached for a moment. */
export class StartRecords {
  readonly #pool: Pool;
  readonly #known = new BoundedMap<EndpointId, { record: StartRecord; readAt: number }>(MAX_CACHED);

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Returns a lookup for these endpoints. `now` is wall-clock time. */
  async read(endpointIds: ReadonlySet<EndpointId>, now: number): Promise<(endpointId: string) => StartRecord> {
    const stale = [...endpointIds].filter((id) => !this.#isFresh(id, now));
    if (stale.length > 0) {
      const rows = Map.groupBy(await listPastStarts(this.#pool, stale), ({ endpointId }) => endpointId);
      for (const id of stale) {
        const starts = (rows.get(id) ?? []).map((row) => ({
          ...row,
          placedAt: row.placedAt?.getTime() ?? null,
          readyAt: row.readyAt?.getTime() ?? null,
          exitedAt: row.exitedAt?.getTime() ?? null,
        }));
        const record = startRecordOf(starts, rows.get(id)?.[0]?.newestVersion ?? 0, now);
        this.#known.set(id, { record, readAt: now });
      }
    }
    return (endpointId) => this.#known.get(endpointId as EndpointId)?.record ?? NO_FAILURES;
  }

  /** A worker of the endpoint ended. */
  forget(endpointId: EndpointId): void {
    this.#known.delete(endpointId);
  }

  #isFresh(id: EndpointId, now: number): boolean {
    const known = this.#known.get(id);
    return known !== undefined && Math.abs(now - known.readAt) < TTL_MS;
  }
}
