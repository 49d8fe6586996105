import { Failure } from '../../core/errors.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Db } from '../../db/pool.ts';
import type { Claimant } from '../../scaling/because.ts';
import { type CudaRule, describeCuda, fitsCuda } from '../../scaling/cuda-version.ts';
import { type ReclaimableWorker, reclaimForPod } from '../../scaling/reclaim-gpus.ts';
import { checkBudget } from '../budgets/check-budget.ts';
import { countFits, cpuAvailability } from '../catalog/availability.ts';
import { type GpuStock, type Stock, withoutUsed } from '../catalog/capacity-source.ts';
import { findCpuFlavor, findGpuType } from '../catalog/catalog.ts';
import type { GpusInUse } from '../catalog/gpus-in-use.ts';
import { checkMoreGpus } from '../quotas/check-limit.ts';
import { takesFromQuotas } from '../quotas/usage.ts';
import { listReclaimableWorkers, reclaimGpus } from '../workers/reclaimable-workers.ts';
import { listGpusInUse } from '../workers/worker-lifecycle.ts';
import type { Pod, PodGpu } from './pod.ts';

/** Where a pod runs; the pool is null for a CPU pod. */
export interface PodPlace {
  pool: string | null;
  dataCenterId: string;
  /** CUDA version of its driver; null where it is unknown. */
  cudaVersion: string | null;
}

/** Clients look for these words (docs/interface/rest.md, "Errors"). */
export const NO_CAPACITY = 'There are no longer any instances available';

/** A pod that needs a place. `podCount`: so many of them at once, in one place; absent: one. */
type Placed = Pick<Pod, 'gpu' | 'cpu' | 'cloud' | 'dataCenterIds' | 'name'> &
  Partial<Pick<Pod, 'id'>> & { userId: UserId; podCount?: number };

/**
 * Finds a place for the pod in one of its data centers, in the listed order (none listed: any). Its GPUs are reserved by a
 * lock until the transaction ends, then by the pod's row. Frozen workers are evicted if that frees a place; publish
 * `evicted` after the commit. Throws `badRequest` without capacity, `tooManyRequests` or `forbidden` over the user's limit,
 * and `forbidden` while a budget stops the user's pods.
 */
export async function placePod(
  db: Db,
  pod: Placed,
  stock: Stock,
): Promise<{ place: PodPlace; evicted: readonly WorkerId[] }> {
  await checkBudget(db, pod.userId);
  if (pod.cpu) {
    const place = choose(pod, placesForCpus(pod, stock));
    if (!place) throw noCapacity(pod, `${pod.cpu.vcpuCount} vCPUs of ${pod.cpu.id}`);
    return { place, evicted: [] };
  }
  await db.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.capacity]);
  const more = gpusOf(pod);
  await checkMoreGpus(db, pod.userId, { more, exceptPodId: pod.id ?? null });
  const total = stock.gpus.reduce((sum, entry) => sum + entry.total, 0);
  if (await takesFromQuotas(db, pod.userId, { more, total, exceptPodId: pod.id ?? null })) {
    throw noCapacity(pod, `${needOf(pod)}, beyond what the quotas of other users hold back`);
  }
  const used = await listGpusInUse(db, { exceptPodId: pod.id ?? null });
  const place = choose(pod, placesForGpus(pod, withoutUsed(stock, used)));
  return place ? { place, evicted: [] } : placeOverFrozen(db, pod, stock, used);
}

/** Evicts frozen workers until the pod fits. */
async function placeOverFrozen(
  db: Db,
  pod: Placed,
  stock: Stock,
  used: readonly GpusInUse[],
): Promise<{ place: PodPlace; evicted: WorkerId[] }> {
  const workers = await listReclaimableWorkers(db, []);
  const found = reclaimForPod(workers, pod.gpu!.id, (freed) => {
    return inOrder(pod, placesForGpus(pod, withoutUsed(stock, freed.reduce(withoutWorker, used))));
  });
  if (!found) throw noCapacity(pod, needOf(pod) + whatIsShort(pod.gpu!, stock));
  const claimant: Claimant = { kind: 'pod', name: pod.name, userId: pod.userId };
  return { place: found.place, evicted: await reclaimGpus(db, found.victims, claimant) };
}

function withoutWorker(used: readonly GpusInUse[], worker: ReclaimableWorker): GpusInUse[] {
  return used.map((one) => (holds(one, worker) ? { ...one, count: one.count - worker.count } : one));
}

function holds(one: GpusInUse, { pool, gpuTypeId, dataCenterId }: ReclaimableWorker): boolean {
  return one.pool === pool && one.gpuTypeId === gpuTypeId && one.dataCenterId === dataCenterId;
}

/** Returns the first place for the GPUs as if nothing ran. Throws `badRequest` if there is none even then. */
export function findPlaceAtAll(pod: Placed, stock: Stock): PodPlace {
  const place = choose(pod, placesForGpus(pod, withoutUsed(stock, [])));
  if (place) return place;
  throw noCapacity(pod, `${needOf(pod)}${whatIsShort(pod.gpu!, stock, '')}; not even if nothing else ran`);
}

/** Several pods may be on different machines, but in one pool of one data center. */
function placesForGpus(
  { gpu, cloud, podCount = 1 }: Pick<Placed, 'gpu' | 'cloud' | 'podCount'>,
  stock: Stock,
): PodPlace[] {
  const type = findGpuType(gpu!.id);
  if (!type) return [];
  const request = { count: gpu!.count, cloud, cuda: cudaRuleOf(gpu!) };
  const entries = stock.gpus.filter((entry) => entry.gpuTypeId === type.id && !lackOf(gpu!, entry, stock));
  const groups =
    podCount === 1
      ? entries.map((entry) => [entry])
      : Map.groupBy(entries, ({ pool, dataCenterId }) => `${pool} ${dataCenterId}`).values();
  const fits = (group: readonly GpuStock[]) => group.reduce((sum, entry) => sum + countFits(type, entry, request), 0);
  return [...groups].filter((group) => fits(group) >= podCount).map(toPlace);
}

/** The CUDA version is known if it is the same on all machines of the place. */
function toPlace(group: readonly GpuStock[]): PodPlace {
  const { pool, dataCenterId, cudaVersion = null } = group[0]!;
  return {
    pool,
    dataCenterId,
    cudaVersion: group.every((one) => one.cudaVersion === cudaVersion) ? cudaVersion : null,
  };
}

function gpusOf({ gpu, podCount = 1 }: Pick<Placed, 'gpu' | 'podCount'>): number {
  return gpu!.count * podCount;
}

function needOf({ gpu, podCount }: Pick<Placed, 'gpu' | 'podCount'>): string {
  return podCount === undefined ? describe(gpu!) : `${describe(gpu!)} for each of ${podCount} pods, all at once`;
}

function cudaRuleOf({ allowedCudaVersions: allowed, minCudaVersion: min }: PodGpu): CudaRule {
  return { ...(allowed?.length && { allowed }), ...(min !== undefined && { min }) };
}

/** A minimum that a machine does not meet. */
interface Lack {
  what: 'GB of memory' | 'CPUs';
  needed: number;
  there: number;
}

/** Returns the minimum that the machine does not meet; undefined if it meets them. They count for each GPU that is asked for. */
function lackOf(
  { count, minRamPerGpu = 0, minVcpuCountPerGpu = 0 }: PodGpu,
  { machine }: GpuStock,
  stock: Stock,
): Lack | undefined {
  const { cpus, memoryBytes } = machine ?? stock;
  const wants: Lack[] = [
    { what: 'GB of memory', needed: minRamPerGpu * count, there: memoryBytes / 2 ** 30 },
    { what: 'CPUs', needed: minVcpuCountPerGpu * count, there: cpus },
  ];
  return wants.find(({ needed, there }) => there < needed);
}

function describe(gpu: PodGpu): string {
  const wants = [
    describeCuda(cudaRuleOf(gpu)),
    gpu.minRamPerGpu ? `${gpu.minRamPerGpu} GB of memory for each GPU` : null,
    gpu.minVcpuCountPerGpu ? `${gpu.minVcpuCountPerGpu} CPUs for each GPU` : null,
  ].filter((one) => one !== null);
  return `${gpu.count} × ${gpu.id}${wants.length === 0 ? '' : ` with ${wants.join(', ')}`}`;
}

/** Names what is short in a clause; empty where no machine has that type of GPU. `few`: for GPUs. */
function whatIsShort(gpu: PodGpu, stock: Stock, few = ', but too few of these GPUs are free'): string {
  const machines = stock.gpus.filter(({ gpuTypeId, total }) => gpuTypeId === gpu.id && total > 0);
  if (machines.length === 0) return '';
  if (!machines.some(({ cudaVersion }) => fitsCuda(cudaVersion, cudaRuleOf(gpu)))) return whatDriversHave(machines);
  const lacks = machines.map((machine) => lackOf(gpu, machine, stock));
  if (lacks.includes(undefined)) return few;
  const most = lacks.reduce((a, b) => (b!.there > a!.there ? b : a))!;
  return `, but a machine has ${Math.floor(most.there)} ${most.what} of the ${most.needed} that are needed`;
}

function whatDriversHave(machines: readonly GpuStock[]): string {
  const known = [...new Set(machines.flatMap(({ cudaVersion }) => cudaVersion ?? []))];
  return known.length === 0 ? '' : `, but the drivers support ${known.join(' and ')}`;
}

/** CPUs and memory are shared, not reserved: a pod fits if the machine has that many in total, as the catalog says. */
function placesForCpus({ cpu }: Pick<Pod, 'cpu'>, stock: Stock): PodPlace[] {
  const flavor = findCpuFlavor(cpu!.id);
  if (!flavor) return [];
  return cpuAvailability(flavor, stock, cpu!.vcpuCount)
    .dataCenters.filter(({ availability }) => availability !== 'NONE')
    .map(({ id }) => ({ pool: null, dataCenterId: id, cudaVersion: null }));
}

function choose(pod: Pick<Pod, 'dataCenterIds'>, places: readonly PodPlace[]): PodPlace | undefined {
  return inOrder(pod, places)[0];
}

/** Returns those in the pod's data centers, in the listed order. */
function inOrder({ dataCenterIds }: Pick<Pod, 'dataCenterIds'>, places: readonly PodPlace[]): PodPlace[] {
  const wanted =
    dataCenterIds.length === 0 ? places : places.filter((place) => dataCenterIds.includes(place.dataCenterId));
  const preference = (place: PodPlace) => dataCenterIds.indexOf(place.dataCenterId);
  return wanted.toSorted((a, b) => preference(a) - preference(b));
}

function noCapacity({ dataCenterIds }: Pick<Pod, 'dataCenterIds'>, what: string): Failure {
  const where = dataCenterIds.length === 0 ? '' : ` in ${dataCenterIds.join(', ')}`;
  return new Failure('badRequest', `${NO_CAPACITY} with what the pod needs: ${what}${where}.`);
}
