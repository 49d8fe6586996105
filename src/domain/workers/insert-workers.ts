import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { insertWorkerKeys } from '../access/workload-keys.ts';
import { type Decision, insertDecisions } from '../decisions/record-decision.ts';
import { SERVING_VERSION } from '../releases/serving-version.ts';
import { type ControlledWorker, selectControlled } from './worker-lifecycle.ts';

/** A worker to create, on the release that serves the endpoint. With `pause` it waits until then, shown as unhealthy. */
export interface NewWorker {
  id: WorkerId;
  endpointId: EndpointId;
  reason: string;
  pause: { until: Date; reason: string } | null;
  /** Stored with the worker. */
  decision?: Decision | null;
  /** With a place it starts at once. */
  place?: NewPlace | null;
}

/** The place of a new worker. It is not taken if another version of the endpoint serves than the one it was chosen for. */
export interface NewPlace {
  version: number;
  pool: string | null;
  gpuTypeId: string | null;
  dataCenterId: string | null;
  tokenHash: Buffer;
  /** Hash of its own key (access/workload-keys.ts); null: the user's env has one. */
  keyHash: Buffer | null;
}

/**
 * Returns the inserted workers, oldest first: all but those of deleted endpoints. Locks the endpoints, so that a deletion or a change of the owner
 * either comes first, or finds the worker. One that took its place is STARTING, the others are PENDING.
 */
export async function insertWorkers(db: Db, workers: readonly NewWorker[]): Promise<ControlledWorker[]> {
  const rows = workers.map(({ pause, place, ...worker }) => ({
    ...worker,
    until: pause?.until,
    waits: pause?.reason,
    ...(place && {
      ...place,
      tokenHash: place.tokenHash.toString('hex'),
      keyHash: place.keyHash?.toString('hex') ?? null,
    }),
  }));
  const result = await db.query<ControlledWorker>({
    name: 'workers-insert',
    text: `with n as (
             select * from jsonb_to_recordset($1::jsonb)
               as n(id text, "endpointId" text, reason text, until timestamptz, waits text, decision jsonb, version int,
                    pool text, "gpuTypeId" text, "dataCenterId" text, "tokenHash" text, "keyHash" text)
           ), inserted as (
             insert into workers (id, endpoint_id, endpoint_type, user_id, version, wanted_reason, spec, gpu_count, not_before,
               phase_reason, is_lost, phase, gpu_pool, gpu_type_id, data_center_id, token_hash, timeline)
             select n.id, e.id, e.type, e.user_id, r.version, n.reason, r.spec,
                    coalesce((r.spec -> 'gpu' ->> 'count')::int, e.gpu_count, 0), n.until, n.waits, n.until is not null,
                    coalesce(p.phase, 'PENDING'), p.pool, p."gpuTypeId", p."dataCenterId", p.token_hash, coalesce(p.timeline, '{}')
             from n join endpoints e on e.id = n."endpointId"
             join releases r on r.endpoint_id = e.id and r.version = ${SERVING_VERSION}
             left join lateral (
               select 'STARTING' as phase, n.pool, n."gpuTypeId", n."dataCenterId", decode(n."tokenHash", 'hex') as token_hash,
                      jsonb_build_object('capacityAt', now()) as timeline
               where n.version = r.version) p on true
             for share of e
             returning *
           ), keys as (${insertWorkerKeys(`(
             select i.id, i.user_id, i.endpoint_id, decode(n."keyHash", 'hex') as key_hash
             from inserted i join n on n.id = i.id where i.phase = 'STARTING') i`)}
           ), ${insertDecisions('select i.endpoint_id, n.decision from inserted i join n on n.id = i.id where n.decision is not null')}
           ${selectControlled('inserted')}
           order by w.created_at, w.id`,
    values: [JSON.stringify(rows)],
  });
  return result.rows;
}
