import type { PerGpuSettings } from '../../../config/gpu-share-settings.ts';
import type { WorkloadOptionRules } from '../../../config/workload-option-settings.ts';
import type { Clock } from '../../../core/clock.ts';
import { Batcher } from '../../../core/flow/batcher.ts';
import type { UserId } from '../../../core/ids.ts';
import type { SecretBox } from '../../../core/secret-box.ts';
import type { Pool } from '../../../db/pool.ts';
import { listPublicKeys } from '../../../domain/access/public-keys.ts';
import { KEY_VARIABLE } from '../../../domain/access/workload-keys.ts';
import { resolveSecrets } from '../../../domain/secrets/resolve-secrets.ts';
import { updateWorkerPorts } from '../../../domain/workers/serving-workers.ts';
import { updateSleepMethod } from '../../../domain/workers/sleeping-workers.ts';
import { type ControlledWorker, markCopying, markWaiting } from '../../../domain/workers/worker-lifecycle.ts';
import { NO_CAPACITY } from '../../../domain/workers/worker-status.ts';
import {
  isNothingPermitted,
  NO_OPTIONS,
  perGpuWith,
  permittedOptions,
  type WorkloadOptions,
} from '../../../domain/workload-options/workload-options.ts';
import { readWorkloadOptions } from '../../../domain/workload-options/workload-options-store.ts';
import type { Runtime, WorkloadSpec } from '../../../runtimes/runtime.ts';
import type { WorkerModels } from '../../models/worker-models.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import { decideLimits, visibleLimits } from '../../workloads/decide-limits.ts';
import { startOnPorts } from '../../workloads/start-on-ports.ts';
import { cudaVersionOf } from '../../workloads/workload-env.ts';
import type { WorkloadHub } from '../../workloads/workload-hub.ts';
import type { WorkloadMounts } from '../../workloads/workload-mounts.ts';
import { hasSleepUrls } from '../freeze/sleep-hooks.ts';
import type { CapacityLedger } from '../place/capacity-ledger.ts';
import { type Claim, newClaim, type Place } from '../place/claim.ts';
import type { PhaseWriter } from './phase-writer.ts';
import { workerEnv, workerPorts } from './worker-env.ts';
import type { WorkerImages } from './worker-images.ts';

export interface LaunchDeps {
  pool: Pool;
  runtime: Runtime;
  logs: LogCollector;
  capacity: CapacityLedger;
  phases: PhaseWriter;
  /** Measures intervals. */
  monotonic: Clock;
  /** Opens secrets named in an env. */
  secretBox: SecretBox;
  images: WorkerImages;
  mounts: WorkloadMounts;
  models: WorkerModels;
  hub: WorkloadHub;
  /** Reads users' SSH public keys. */
  publicKeys: Batcher<UserId, string>;
  /** Where workloads reach the worker API. */
  apiUrl: string;
  leaseMs: number;
  perGpu: PerGpuSettings;
  /** The options that endpoints may set for their workers. */
  workloadOptions: WorkloadOptionRules;
  /** The address on which TCP ports of workers are published; null: that of the machine, which the runtime sets. */
  publishIp: string | null;
  /** Where containers reach the API; null unless the operator says so. */
  publicUrl: string | null;
}

/**
 * Takes a worker whose image is there from its place to a running container, and records each stage in its timeline. Throws an error whose message is fit for users.
 */
export async function launchWorker(
  deps: LaunchDeps,
  worker: ControlledWorker,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> {
  await recordSleepMethod(deps, worker, claim.place);
  const placedAt = deps.monotonic.now();
  const sincePlaced = () => deps.monotonic.now() - placedAt;
  const onProgress = (line: string) => deps.logs.system(worker.id, line);
  const registry = await deps.images.credentials(worker);
  const pullMs = sincePlaced();
  let createMs = pullMs;
  const onCreated = () => {
    createMs = sincePlaced();
  };
  let marked = Promise.resolve();
  const mark = (write: () => Promise<void>) => {
    marked = marked.then(write).catch(() => {}); // best effort: it is shown only
  };
  const onWaiting = (missing: string) => {
    onProgress(`waits: ${NO_CAPACITY}: ${missing}`);
    mark(() => markWaiting(deps.pool, worker.id, `${NO_CAPACITY}: ${missing}`));
  };
  const onModels = (areThere: boolean) => mark(() => markCopying(deps.pool, worker.id, areThere));
  const onBringing = (how: string | null) => mark(() => markWaiting(deps.pool, worker.id, how));
  const { image, isPinned } = await deps.images.referenceOf(worker);
  const built = await buildSpec(deps, worker, claim);
  const { address, image: found } = await startOnPorts(deps, worker.spec.ports, (tcpPorts) =>
    deps.runtime.start(
      { ...built(tcpPorts), image, registry },
      { onProgress, onCreated, onWaiting, onModels, onBringing, signal },
    ),
  );
  await Promise.all([marked, deps.models.started(worker)]);
  if (found && !isPinned) await deps.images.settle(worker, found);
  await deps.phases.running({ id: worker.id, address, marks: { pullMs, createMs } });
  deps.logs.follow(worker.id, { isNew: true });
}

/** Writes a claim on a worker's place down; null when the GPUs were given to another workload meanwhile. */
export async function takePlace(
  { phases, capacity, publicKeys }: LaunchDeps,
  { id, userId, gpuCount, spec }: ControlledWorker,
  place: Place,
): Promise<Claim | null> {
  const claim = newClaim(place, { hasKey: KEY_VARIABLE in spec.env, publicKeys: publicKeys.run(userId) });
  const { tokenHash, keyHash } = claim;
  const isPlaced = await phases.starting({ id, ...place, gpuCount, tokenHash, keyHash });
  capacity.settle(id);
  if (isPlaced) return claim;
  capacity.expire();
  return null;
}

function gpuOf({ gpuCount }: ControlledWorker, { pool, gpuTypeId, cudaVersion }: Place): WorkloadSpec['gpu'] {
  if (pool === null) return null;
  return { pool, count: gpuCount, ...(gpuTypeId && { gpuTypeId }), ...(cudaVersion && { cudaVersion }) };
}

/** A kit that can sleep says so itself, and is preferred. */
async function recordSleepMethod(
  { pool, runtime }: LaunchDeps,
  { id, spec }: ControlledWorker,
  place: Place,
): Promise<void> {
  if (place.pool === null || runtime.gpuSleep === null) return;
  if (hasSleepUrls(spec.env)) await updateSleepMethod(pool, id, 'URL');
  else if ((await runtime.gpuSleep.checkpointHindrance()) === null) await updateSleepMethod(pool, id, 'CHECKPOINT');
}

/** Returns what to start, given its public ports. */
async function buildSpec(
  deps: LaunchDeps,
  worker: ControlledWorker,
  { place, token, apiKey, ...given }: Claim,
): Promise<(tcpPorts: ReadonlyMap<number, number>) => Omit<WorkloadSpec, 'image' | 'registry'>> {
  const env = await resolveSecrets(deps, worker.userId, worker.spec.env);
  const publicKeys = await given.publicKeys;
  const ports = worker.endpointType === 'LOAD_BALANCING' ? await workerPorts(env, deps.runtime) : null;
  if (ports) await updateWorkerPorts(deps.pool, worker.id, ports);
  const storage = await deps.mounts.ofWorker(worker, place.dataCenterId);
  const models = await deps.models.show(worker);
  const spec = { ...worker.spec, env };
  const gpu = gpuOf(worker, place);
  const { dataCenterId } = place;
  const { machine } = deps.capacity;
  const options = await optionsOf(deps, worker);
  const perGpu = perGpuWith(deps.perGpu, options);
  const limits = decideLimits({ cpu: place.cpu ?? null, gpu: gpu && { ...gpu, dataCenterId } }, machine, perGpu);
  const facts = {
    apiUrl: deps.apiUrl,
    leaseMs: deps.leaseMs,
    token,
    defaults: { publicKeys, apiKey, publicUrl: deps.publicUrl },
    gpuTypeId: place.gpuTypeId,
    dataCenterId,
    ...visibleLimits(limits, machine),
    canSleep: place.pool !== null && deps.runtime.gpuSleep !== null,
    ports,
  };
  const cudaVersion = place.cudaVersion ?? cudaVersionOf(machine, place);
  const publicIpFor = (tcpPorts: ReadonlyMap<number, number>) => (tcpPorts.size === 0 ? null : deps.publishIp);
  return (tcpPorts) => ({
    id: worker.id,
    kind: 'worker',
    args: spec.args,
    env: {
      ...deps.hub.envOf(worker.id),
      ...models.env,
      ...workerEnv({ ...worker, spec }, { ...facts, tcpPorts, publicIp: publicIpFor(tcpPorts) }),
      ...storage.env,
    },
    imageDefaults: {
      ...(cudaVersion !== null && { CUDA_VERSION: cudaVersion }),
      ...models.defaults,
      ...deps.hub.imageDefaultsOf(worker.id),
    },
    diskGb: spec.diskGb,
    ports: spec.ports,
    publicPorts: Object.fromEntries(tcpPorts),
    gpu,
    dataCenterId,
    ...limits,
    mounts: [...storage.mounts, ...models.mounts],
    ...(models.copied && { models: models.copied }),
    endpointId: worker.endpointId,
    metadata: { labels: options.labels, annotations: options.annotations },
    isPriority: worker.isPriority,
  });
}

/** Most operators permit none: then there is nothing to read. */
async function optionsOf(
  { pool, workloadOptions }: LaunchDeps,
  { endpointId }: ControlledWorker,
): Promise<WorkloadOptions> {
  if (isNothingPermitted(workloadOptions)) return NO_OPTIONS;
  return permittedOptions(await readWorkloadOptions(pool, endpointId), workloadOptions);
}

/** Returns a batcher that reads users' SSH public keys: workers that start at the same moment share a statement. */
export function batchPublicKeys(pool: Pool): Batcher<UserId, string> {
  return new Batcher({
    lanes: 2,
    maxSize: 500,
    isCallFault: () => false,
    flush: async (ids) => {
      const keys = await listPublicKeys(pool, [...new Set(ids)]);
      return ids.map((id) => keys.get(id) ?? '');
    },
  });
}
