import { Failure } from '../../core/errors.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Db } from '../../db/pool.ts';
import { countFits, cpuAvailability } from '../catalog/availability.ts';
import { type Stock, withoutUsed } from '../catalog/capacity-source.ts';
import { findCpuFlavor, findGpuType } from '../catalog/catalog.ts';
import { listGpusInUse } from '../workers/worker-lifecycle.ts';
import type { Pod } from './pod.ts';

/** Where a pod runs; the pool is null for a CPU pod. */
export interface PodPlace {
  pool: string | null;
  dataCenterId: string;
}

/** Clients look for these words (rest.md section 1, "No capacity"). */
export const NO_CAPACITY = 'There are no longer any instances available';

/**
 * A place for the pod in one of the data centres, the first listed first (none listed: any). GPUs that it gets are nobody
 * else's from here to the end of the transaction, and from then on by the pod's row. Throws `badRequest` when there are
 * none.
 */
export async function placePod(
  db: Db,
  pod: Pick<Pod, 'gpu' | 'cpu' | 'cloud' | 'dataCenterIds'> & Partial<Pick<Pod, 'id'>>,
  stock: Stock,
): Promise<PodPlace> {
  if (pod.cpu) return choose(pod, placesForCpus(pod, stock), `${pod.cpu.vcpuCount} vCPUs of ${pod.cpu.id}`);
  await db.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.capacity]);
  const free = withoutUsed(stock, await listGpusInUse(db, pod.id ?? null));
  const { id, count } = pod.gpu!;
  return choose(pod, placesForGpus(pod, free), `${count} × ${id}`);
}

function placesForGpus({ gpu, cloud }: Pick<Pod, 'gpu' | 'cloud'>, stock: Stock): PodPlace[] {
  const type = findGpuType(gpu!.id);
  if (!type) return [];
  const wish = { count: gpu!.count, cloud, minCudaVersion: null };
  return stock.gpus.filter((entry) => entry.gpuTypeId === type.id && countFits(type, entry, wish) > 0);
}

/** CPUs and memory are shared, not given away: a pod fits where a machine has as many at all, as the catalogue says. */
function placesForCpus({ cpu }: Pick<Pod, 'cpu'>, stock: Stock): PodPlace[] {
  const flavor = findCpuFlavor(cpu!.id);
  if (!flavor) return [];
  return cpuAvailability(flavor, stock, cpu!.vcpuCount)
    .dataCenters.filter(({ availability }) => availability !== 'NONE')
    .map(({ id }) => ({ pool: null, dataCenterId: id }));
}

function choose({ dataCenterIds }: Pick<Pod, 'dataCenterIds'>, places: readonly PodPlace[], what: string): PodPlace {
  const wanted =
    dataCenterIds.length === 0 ? places : places.filter((place) => dataCenterIds.includes(place.dataCenterId));
  const preference = (place: PodPlace) => dataCenterIds.indexOf(place.dataCenterId);
  const [best] = wanted.toSorted((a, b) => preference(a) - preference(b));
  if (best) return { pool: best.pool, dataCenterId: best.dataCenterId };
  const where = dataCenterIds.length === 0 ? '' : ` in ${dataCenterIds.join(', ')}`;
  throw new Failure('badRequest', `${NO_CAPACITY} with what the pod needs: ${what}${where}.`);
}
