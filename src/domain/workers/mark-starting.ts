import type { WorkerId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { insertWorkerKeys } from '../access/workload-keys.ts';
import type { CpuConfig } from '../catalog/cpu-config.ts';
import { type GpusInUse, subtractInUse } from '../catalog/gpus-in-use.ts';
import { insertWorkers, type NewPlace, type NewWorker } from './insert-workers.ts';
import { inLockOrder } from './lock-order.ts';
import { type ControlledWorker, GPUS_OF_PODS, listGpusInUse } from './worker-lifecycle.ts';

/** A placed worker with its new token. */
export interface StartingWorker extends Omit<NewPlace, 'version'> {
  id: WorkerId;
  gpuCount: number;
  /** The CPUs of a CPU endpoint's worker. */
  cpu?: CpuConfig | null;
}

/** Where a worker wants GPUs, and how many. */
type Claim = Pick<StartingWorker, 'id' | 'pool' | 'gpuTypeId' | 'dataCenterId' | 'gpuCount'>;

/** The number of GPUs, free or not. */
interface GpuTotal {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
}

/** All GPUs, and those in use by workers. */
interface GpuFacts {
  gpus: readonly GpuTotal[];
  /** Returns at least what workers other than these hold or were promised. Undefined: only the table says. */
  heldByOthers: (workers: ReadonlySet<string>) => readonly GpusInUse[] | undefined;
}

/**
 * Marks placed workers as starting, and returns those that were marked. A worker whose GPUs a pod got since the placement
 * stays as it is. From the commit on, the others' GPUs are reserved.
 */
export async function markStarting(
  pool: Pool,
  workers: readonly StartingWorker[],
  facts: GpuFacts,
): Promise<Set<WorkerId>> {
  if (workers.every((worker) => worker.pool === null)) return write(pool, workers);
  return claimGpus(pool, workers, facts, write);
}

/** A new worker, and how many GPUs it wants in its place. */
export interface PlacedWorker extends NewWorker {
  gpuCount: number;
}

/**
 * Inserts workers, and returns their rows, as `insertWorkers` does. Those whose GPUs a pod got since the placement are PENDING. From the commit on,
 * the others' GPUs are reserved.
 */
export async function insertStarting(
  pool: Pool,
  workers: readonly PlacedWorker[],
  facts: GpuFacts,
): Promise<ControlledWorker[]> {
  const claims = workers.flatMap(({ place, ...worker }) => (place ? [{ ...place, ...worker }] : []));
  if (claims.length === 0) return insertWorkers(pool, workers);
  return claimGpus(pool, claims, facts, (db, fitting) => {
    const ids = new Set(fitting.map(({ id }) => id));
    return insertWorkers(
      db,
      workers.map((worker) => (ids.has(worker.id) ? worker : { ...worker, place: null })),
    );
  });
}

/** Calls `write` with the workers for which there are GPUs, under the lock for GPU allocation. */
function claimGpus<Worker extends Claim, Result>(
  pool: Pool,
  workers: readonly Worker[],
  facts: GpuFacts,
  write: (db: Db, fitting: readonly Worker[]) => Promise<Result>,
): Promise<Result> {
  return transaction(
    pool,
    async (db, ofPods) => write(db, await listFitting(db, workers, facts, ofPods as GpusInUse[])),
    { lock: ADVISORY_LOCKS.capacity, read: GPUS_OF_PODS },
  );
}

/** Reads the GPUs of all workers only if the caller's estimate leaves too few. */
async function listFitting<Worker extends Claim>(
  db: Db,
  workers: readonly Worker[],
  { gpus, heldByOthers }: GpuFacts,
  ofPods: readonly GpusInUse[],
): Promise<readonly Worker[]> {
  const held = heldByOthers(new Set(workers.map(({ id }) => id)));
  const fitting = held && keepFitting(workers, gpus, [...held, ...ofPods]);
  return fitting?.length === workers.length ? fitting : keepFitting(workers, gpus, await listGpusInUse(db));
}

function keepFitting<Worker extends Claim>(
  workers: readonly Worker[],
  gpus: readonly GpuTotal[],
  inUse: readonly GpusInUse[],
): Worker[] {
  const places = subtractInUse(sumByType(gpus), inUse);
  const free = new Map(places.map((place) => [keyOf(place), place.free]));
  return workers.filter((worker) => {
    if (worker.pool === null) return true;
    const left = (free.get(keyOf(worker)) ?? 0) - worker.gpuCount;
    if (left >= 0) free.set(keyOf(worker), left);
    return left >= 0;
  });
}

/** Adds up the nodes: which of them has what is free decides the runtime. */
function sumByType(gpus: readonly GpuTotal[]): GpuTotal[] {
  const sums = new Map<string, GpuTotal>();
  for (const one of gpus) {
    const before = sums.get(keyOf(one))?.total ?? 0;
    sums.set(keyOf(one), { ...one, total: before + one.total });
  }
  return [...sums.values()];
}

function keyOf({ pool, gpuTypeId, dataCenterId }: Pick<Claim, 'pool' | 'gpuTypeId' | 'dataCenterId'>): string {
  return JSON.stringify([dataCenterId, pool, gpuTypeId]);
}

async function write(db: Db, workers: readonly StartingWorker[]): Promise<Set<WorkerId>> {
  const rows = inLockOrder(workers).map(({ tokenHash, keyHash, ...worker }) => {
    return { ...worker, tokenHash: tokenHash.toString('hex'), keyHash: keyHash?.toString('hex') ?? null };
  });
  await db.query({
    name: 'workers-starting',
    text: `with started as (
           update workers w set phase = 'STARTING', phase_reason = null, is_lost = false, gpu_pool = n.pool,
             gpu_type_id = n."gpuTypeId", data_center_id = n."dataCenterId", cpu = n.cpu, token_hash = decode(n."tokenHash", 'hex'),
             timeline = timeline || jsonb_build_object('capacityAt', now())
           from jsonb_to_recordset($1::jsonb)
             as n(id text, pool text, "gpuTypeId" text, "dataCenterId" text, cpu jsonb, "tokenHash" text, "keyHash" text)
           where w.id = n.id
           returning w.id, w.user_id, w.endpoint_id, decode(n."keyHash", 'hex') as key_hash)
           ${insertWorkerKeys('started')}`,
    values: [JSON.stringify(rows)],
  });
  return new Set(workers.map(({ id }) => id));
}
