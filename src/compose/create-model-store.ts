import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { DiskWatch } from '../control/housekeeping/watch-disks.ts';
import type { PodRunner } from '../control/pods/run-pods.ts';
import type { WorkerRunner } from '../control/workers/run/run-workers.ts';
import type { Clock } from '../core/clock.ts';
import type { WorkerId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { Installation } from '../domain/installation.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { WorkloadDisk } from '../domain/workers/list-disks.ts';
import { listLiveAmong } from '../domain/workers/live-workers.ts';
import { ModelDoor } from '../models/nodes/model-door.ts';
import { BlobFiles } from '../models/store/blob-files.ts';
import { ModelStore } from '../models/store/model-store.ts';
import { directoryBytes } from '../runtimes/directories/directory-bytes.ts';
import type { DiskMeter, Runtime } from '../runtimes/runtime.ts';
import type { Because } from '../scaling/because.ts';

interface Parts {
  bus: Bus;
  runtime: Runtime;
  installation: Installation;
  webhooks: WebhookPolicy;
  metrics: Metrics;
  clock: Clock;
}

/** Creates the store of this machine's models; null where workers are simulated. */
export function createModelStore({ dataDir, hubUrl, models }: Config, parts: Parts): ModelStore | null {
  const { bus, runtime, installation, webhooks, metrics, clock } = parts;
  if (runtime.name === 'simulated') return null;
  const { fetchedBytes, evicted } = metrics.models;
  return new ModelStore({
    ...models,
    root: join(dataDir, 'models', installation.id),
    hubUrl,
    reach: webhooks,
    isShown: runtime.capabilities.isolation,
    onFetch: () => bus.publish('model', ''),
    clock,
    counters: { fetchedBytes: (bytes) => fetchedBytes.add(bytes), evicted: () => evicted.add() },
  });
}

/** Creates where the nodes of a cluster get models from that store; null where workers are on this machine. */
export function createModelDoor(
  { dataDir, workerApiPort, roles }: Config,
  { runtime, installation, pool, logger }: Parts & { pool: Pool; logger: Logger },
): ModelDoor | null {
  if (runtime.name !== 'kubernetes') return null;
  const blobs = new BlobFiles(join(dataDir, 'models', installation.id));
  return new ModelDoor({
    address: async () => {
      const { bind, host, own } = await runtime.workerApiAddress();
      return { bind, host: own ?? host };
    },
    port: roles.has('data') ? 0 : (workerApiPort ?? 0), // the worker API listens there, in processes that have it
    pathOf: (file) => blobs.pathOf(file),
    listLive: (ids) => listLiveAmong(pool, ids),
    logger,
  });
}

/** None where the runtime limits disks itself. */
export function createDiskWatch(
  { pool, logger, runtime }: { pool: Pool; logger: Logger; runtime: Runtime },
  { workers, pods, modelStore }: { workers: WorkerRunner; pods: PodRunner; modelStore: ModelStore | null },
): DiskWatch[] {
  const disks = disksWith(runtime.disks, runtime.name === 'kubernetes' ? null : modelStore);
  if (disks === null) return [];
  const end = ({ id, revision }: WorkloadDisk, why: Because) => {
    if (revision === null) workers.end(id as WorkerId, why);
    else pods.end(id, revision, why.reason);
  };
  return [new DiskWatch({ pool, logger, disks, end })];
}

/** Returns a meter for which what a worker writes beside its models counts as its disk; null: nothing is to be measured. */
function disksWith(disks: DiskMeter | null, modelStore: ModelStore | null): DiskMeter | null {
  if (modelStore === null) return disks;
  return {
    usedBytes: async (id) => {
      const own = (await disks?.usedBytes(id)) ?? null;
      const folder = modelStore.writableOf(id as WorkerId);
      return folder === null ? own : (own ?? 0) + (await directoryBytes(folder));
    },
  };
}
