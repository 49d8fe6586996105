import type { EndpointId, RegistryId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { NO_CAPACITY } from '../workers/worker-status.ts';

/** The image of a release that may get workers, the registry whose credentials pull it, and where the workers may run. */
export interface ImageToPull {
  endpointId: EndpointId;
  version: number;
  userId: UserId;
  image: string;
  registryId: RegistryId | null;
  /** Empty: they have no GPUs. */
  gpuPools: string[];
  /** Empty: anywhere. */
  dataCenterIds: string[];
}

/** Returns the images of the newest releases of these endpoints, in their order, without those that may have no workers or are gone. */
export async function listImagesToPull(db: Db, ids: readonly EndpointId[]): Promise<ImageToPull[]> {
  const result = await db.query<ImageToPull>({
    name: 'images-to-pull',
    text: `select e.id as "endpointId", version, user_id as "userId", image, registry_id as "registryId",
             coalesce(gpu_pools, '{}') as "gpuPools", data_center_ids as "dataCenterIds"
           from unnest($1::text[]) with ordinality as n(id, place) join endpoints e on e.id = n.id
           where workers_max > 0 order by n.place`,
    values: [ids],
  });
  return result.rows;
}

/** Returns the endpoints that may have workers: first those that may have none, whose next request would wait for a pull, then by age. */
export async function listEndpointsToPull(db: Db, limit: number | null = null): Promise<EndpointId[]> {
  const result = await db.query<{ id: EndpointId }>(
    'select id from endpoints where workers_max > 0 order by workers_min > 0, created_at desc limit $1',
    [limit],
  );
  return result.rows.map(({ id }) => id);
}

/**
 * True while a worker waits for the pull of its image, or starts where a node may be pulling it. One that has failed, or that has waited
 * for longer than an hour, is not waited for: it may never start.
 */
export async function doWorkersPull(db: Db): Promise<boolean> {
  const result = await db.query<{ found: boolean }>({
    name: 'workers-pull',
    text: `select exists(
       select from workers where wanted = 'RUN' and not is_lost and coalesce(not starts_with(phase_reason, $1), true)
         and ((phase = 'STARTING' and not timeline ? 'createAt') or (phase = 'PENDING' and timeline ? 'pullFrom' and not timeline ? 'pullAt'))
         and coalesce(timeline ->> 'capacityAt', timeline ->> 'pullFrom')::timestamptz > now() - interval '1 hour') as found`,
    values: [NO_CAPACITY],
  });
  return result.rows[0]!.found;
}
