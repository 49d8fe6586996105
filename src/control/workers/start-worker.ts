import { newSecret } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import { resolveSecrets } from '../../domain/secrets/resolve-secrets.ts';
import { noteWorkerPorts } from '../../domain/workers/serving-workers.ts';
import { type ControlledWorker, noteWaiting } from '../../domain/workers/worker-lifecycle.ts';
import { NO_CAPACITY } from '../../domain/workers/worker-status.ts';
import type { Runtime, WorkloadSpec } from '../../runtimes/runtime.ts';
import { bringImage } from '../workloads/bring-image.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';
import type { MountedStorage, WorkloadMounts } from '../workloads/workload-mounts.ts';
import type { CapacityLedger } from './capacity-ledger.ts';
import { workerEnv } from './worker-env.ts';
import type { WorkerNotes } from './worker-notes.ts';
import { type WorkerPorts, workerPorts } from './worker-ports.ts';

/** Where a worker may run; all null for one without a GPU. */
export type Place = { pool: string | null; gpuTypeId: string | null; dataCenterId: string | null };

export interface WorkerStart {
  pool: Pool;
  runtime: Runtime;
  logs: LogCollector;
  capacity: CapacityLedger;
  /** Opens the credentials of private registries, and the secrets that an env names. */
  secretBox: SecretBox;
  mounts: WorkloadMounts;
  /** Where workloads reach the worker API. */
  apiUrl: string;
}

/**
 * From a place to a running container; each stage goes into the worker's timeline. False when its place was taken before
 * it was written down. Throws a sentence fit for users.
 */
export async function startWorker(
  deps: WorkerStart,
  notes: WorkerNotes,
  worker: ControlledWorker,
  place: Place,
  signal: AbortSignal,
): Promise<boolean> {
  const { pool, runtime, logs } = deps;
  const token = newSecret('pyw');
  const { gpuCount } = worker;
  const isPlaced = await notes.starting({ id: worker.id, ...place, gpuCount, tokenHash: hashSecret(token) });
  deps.capacity.settle(worker.id);
  if (!isPlaced) {
    deps.capacity.expire();
    return false;
  }
  const placedAt = performance.now();
  const sincePlaced = () => performance.now() - placedAt;
  const onProgress = (line: string) => logs.system(worker.id, line);
  const { image, registryId } = worker.spec;
  const registry = await bringImage(deps, { userId: worker.userId, image, registryId }, onProgress);
  const pullMs = sincePlaced();
  let createMs = pullMs;
  const onCreated = () => {
    createMs = sincePlaced();
  };
  const env = await resolveSecrets(deps, worker.userId, worker.spec.env);
  const ports = worker.endpointType === 'LOAD_BALANCING' ? await workerPorts(env, runtime) : null;
  if (ports) await noteWorkerPorts(pool, worker.id, ports);
  const storage = await deps.mounts.ofWorker(worker, place.dataCenterId);
  const spec = workloadSpec(
    deps,
    { ...worker, spec: { ...worker.spec, env } },
    { place, token, ports, storage, registry },
  );
  const onWaiting = (missing: string) => {
    onProgress(`waits: ${NO_CAPACITY}: ${missing}`);
    noteWaiting(pool, worker.id, `${NO_CAPACITY}: ${missing}`).catch(() => {}); // told again, or over soon
  };
  const { address } = await runtime.start(spec, { onProgress, onCreated, onWaiting, signal });
  await notes.running({ id: worker.id, address, marks: { pullMs, createMs } });
  logs.follow(worker.id, { isNew: true });
  return true;
}

function workloadSpec(
  deps: WorkerStart,
  worker: ControlledWorker,
  {
    place,
    token,
    ports,
    storage,
    registry,
  }: {
    place: Place;
    token: string;
    ports: WorkerPorts | null;
    storage: MountedStorage;
    registry: WorkloadSpec['registry'];
  },
): WorkloadSpec {
  const { spec } = worker;
  const machine = deps.capacity.machine.largest ?? deps.capacity.machine;
  const cpus = spec.cpu?.vcpuCount ?? null;
  const memoryBytes = spec.cpu ? spec.cpu.memory * 2 ** 30 : null;
  return {
    id: worker.id,
    kind: 'worker',
    image: spec.image,
    registry,
    args: spec.args,
    env: {
      ...workerEnv(worker, {
        apiUrl: deps.apiUrl,
        token,
        gpuTypeId: place.gpuTypeId,
        dataCenterId: place.dataCenterId,
        cpus: cpus ?? machine.cpus,
        memoryBytes: memoryBytes ?? machine.memoryBytes,
        ports,
      }),
      ...storage.env,
    },
    diskGb: spec.diskGb,
    ports: spec.ports,
    gpu: place.pool === null ? null : { pool: place.pool, count: worker.gpuCount },
    dataCenterId: place.dataCenterId,
    memoryBytes,
    cpus,
    mounts: storage.mounts,
    isPriority: worker.isPriority,
  };
}
