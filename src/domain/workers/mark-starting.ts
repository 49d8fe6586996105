import type { WorkerId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { insertWorkerKeys } from '../access/workload-keys.ts';
import type { CpuConfig } from '../catalog/cpu-config.ts';
import { type GpusInUse, subtractInUse } from '../catalog/gpus-in-use.ts';
import { inLockOrder } from './lock-order.ts';
import { listGpusInUse } from './worker-lifecycle.ts';

/** A placed worker with its new token. */
export interface StartingWorker {
  id: WorkerId;
  pool: string | null;
  gpuTypeId: string | null;
  gpuCount: number;
  dataCenterId: string | null;
  /** The CPUs of a CPU endpoint's worker. */
  cpu?: CpuConfig | null;
  tokenHash: Buffer;
  /** Hash of its own key (access/workload-keys.ts); null: the user's env has one. */
  keyHash: Buffer | null;
}

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
  const lock = ADVISORY_LOCKS.capacity;
  return transaction(pool, async (db) => write(db, await listFitting(db, workers, facts)), { lock });
}

/** Reads the GPUs of all workers only if the caller's estimate leaves too few. */
async function listFitting(
  db: Db,
  workers: readonly StartingWorker[],
  { gpus, heldByOthers }: GpuFacts,
): Promise<readonly StartingWorker[]> {
  const held = heldByOthers(new Set(workers.map(({ id }) => id)));
  if (held) {
    const ofPods = await listGpusInUse(db, { of: 'pods' });
    const fitting = keepFitting(workers, gpus, [...held, ...ofPods]);
    if (fitting.length === workers.length) return fitting;
  }
  return keepFitting(workers, gpus, await listGpusInUse(db));
}

function keepFitting(
  workers: readonly StartingWorker[],
  gpus: readonly GpuTotal[],
  inUse: readonly GpusInUse[],
): StartingWorker[] {
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

function keyOf({ pool, gpuTypeId, dataCenterId }: Pick<StartingWorker, 'pool' | 'gpuTypeId' | 'dataCenterId'>): string {
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
