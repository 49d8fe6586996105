import { freemem, totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { Builder } from '../builders/builder.ts';
import type { Config } from '../config/config.ts';
import { NO_WORKLOAD_OPTIONS } from '../config/workload-option-settings.ts';
import { ClusterRunner } from '../control/clusters/run-clusters.ts';
import { guardRuntime } from '../control/guard-runtime.ts';
import { leaseLoop } from '../control/housekeeping/end-leases.ts';
import { LogKeeper } from '../control/housekeeping/keep-logs.ts';
import { WebhookDeliverer } from '../control/jobs/deliver-webhooks.ts';
import { JobRescuer, type NotifyDispatch, rescueLeases } from '../control/jobs/rescue-jobs.ts';
import { BatchRunner } from '../control/jobs/run-batches.ts';
import { CONTROL_SESSION, Leadership, type Term } from '../control/leader.ts';
import { keepModelsLoop } from '../control/models/keep-models.ts';
import { pruneModelsLoop } from '../control/models/prune-models.ts';
import { lifetimeLoop } from '../control/pods/keep-lifetimes.ts';
import { PodRunner } from '../control/pods/run-pods.ts';
import { type FrozenMemory, WorkerFreezer } from '../control/workers/freeze/freeze-workers.ts';
import { CapacityLedger } from '../control/workers/place/capacity-ledger.ts';
import { WorkerProber } from '../control/workers/run/probe-workers.ts';
import { WorkerRunner } from '../control/workers/run/run-workers.ts';
import { EndpointScaler } from '../control/workers/scale/scale-endpoints.ts';
import { LogCollector } from '../control/workloads/collect-logs.ts';
import { ReleaseImages } from '../control/workloads/release-images.ts';
import type { WorkloadHub } from '../control/workloads/workload-hub.ts';
import { WorkloadMounts } from '../control/workloads/workload-mounts.ts';
import type { Clock } from '../core/clock.ts';
import { readDisk } from '../core/files/read-disk.ts';
import type { EndpointId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Tracing } from '../core/tracing.ts';
import type { DataPlane } from '../dataplane/data-plane.ts';
import type { Bus } from '../db/bus.ts';
import type { DatabaseHealth } from '../db/database-health.ts';
import { createPool, guardPool, type Pool } from '../db/pool.ts';
import type { Installation } from '../domain/installation.ts';
import { JobQueue, QUEUE_SETTINGS } from '../domain/jobs/job-queue.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { NoticeSender } from '../domain/notices/notice.ts';
import { leaveRuntime } from '../domain/workers/leave-runtime.ts';
import type { ControlledWorker } from '../domain/workers/worker-lifecycle.ts';
import type { ModelDoor } from '../models/nodes/model-door.ts';
import type { ModelStore } from '../models/store/model-store.ts';
import type { Runtime, WorkloadStorage } from '../runtimes/runtime.ts';
import { createAuditLoops } from './audit-loops.ts';
import { createBuildLoops } from './build-loops.ts';
import { createDiskWatch, createModelDoor, createModelStore } from './create-model-store.ts';
import { createNoticeLoops } from './create-notice-post.ts';
import { createHousekeeping, createImageLoops, type Loop } from './housekeeping-loops.ts';
import { MAIN_SETTINGS } from './open-database.ts';

/** Connections of the leader's loops, and of those for the queue's statements. */
const MAX_CONNECTIONS = 12;
const MAX_QUEUE_CONNECTIONS = 4;

/** When housekeeping begins: with its connections a start would take a tenth longer. */
const HOUSEKEEPING_AFTER_MS = 1_000;

/** Rescued jobs come in groups: this many waiting workers are woken for them. */
const RESCUED_AT_ONCE = 64;

/**
 * How far V8's heap may grow between full collections, in percent of what lives; the default is several times as much. In a
 * process with the control role alone this had no measurable cost, and with 20,000 workers it saves 60 MB. Not for processes
 * that serve clients: collections would add to their latency.
 */
const COMPACT_HEAP = '--heap-growing-percent=40';

/** Frozen workers are evicted while less than this share of the machine's memory is free. */
const SCARCE_SHARE = 0.05;

export interface ControlParts {
  pool: Pool;
  bus: Bus;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  tracing: Tracing | null;
  secretBox: SecretBox;
  runtime: Runtime;
  storage: WorkloadStorage | null;
  builder: Builder | null;
  installation: Installation;
  data: DataPlane;
  health: DatabaseHealth;
  webhooks: WebhookPolicy;
  hub: WorkloadHub;
  notices: NoticeSender;
  workerApiUrl: string;
  databaseUrl: string;
}

type TermParts = ControlParts & { queue: JobQueue; demandPool: Pool };
type LoopParts = TermParts & { epoch: number };

/** Runs the loops of the control role while this process leads. Does nothing without that role. */
export function startControl(
  config: Config,
  parts: ControlParts,
): { started: Promise<void>; stop: () => Promise<void> } {
  if (!config.roles.has('control')) return { started: Promise.resolve(), stop: async () => {} };
  if (!config.roles.has('data')) setFlagsFromString(COMPACT_HEAP);
  const notify = createNotify(parts.data);
  const leadership = new Leadership({
    databaseUrl: parts.databaseUrl,
    logger: parts.logger,
    createTerm: (epoch, isValid) => createTerm(config, parts, notify, { epoch, isValid }),
  });
  return {
    started: leadership.start(),
    stop: async () => {
      await leadership.stop();
      if (!config.stopWorkersOnExit) return;
      const { workers, pods } = createLoops(
        config,
        { ...parts, queue: parts.data.queue, demandPool: parts.pool, epoch: 0 },
        notify,
      );
      await Promise.all([workers.stopAll(), pods.stopAll()]);
    },
  };
}

/**
 * Creates new loops for each term: they write over connections of their own, which carry the term's epoch and are closed with it
 * (docs/decisions/0031-fencing.md).
 */
function createTerm(
  config: Config,
  parts: ControlParts,
  notify: Notify,
  { epoch, isValid }: { epoch: number; isValid: () => boolean },
): Term {
  const { databaseUrl } = parts;
  const fence = { 'podyard.epoch': String(epoch) };
  const pool = createPool({
    databaseUrl,
    applicationName: CONTROL_SESSION,
    maxConnections: MAX_CONNECTIONS,
    settings: { ...MAIN_SETTINGS, ...fence },
  });
  const queuePool = createPool({
    databaseUrl,
    applicationName: CONTROL_SESSION,
    maxConnections: MAX_QUEUE_CONNECTIONS,
    settings: { ...QUEUE_SETTINGS, ...fence },
  });
  const demandPool = createPool({
    databaseUrl,
    applicationName: CONTROL_SESSION,
    maxConnections: 2,
    settings: { ...MAIN_SETTINGS, ...fence, plan_cache_mode: 'force_generic_plan' },
  });
  const pools = [pool, queuePool, demandPool];
  for (const each of pools) parts.health.watch(each);
  const closes = pools.map((each) => guardPool(each, isValid));
  const queue = new JobQueue({ pool: queuePool, processId: parts.bus.processId, limits: config.limits });
  const termParts = { ...parts, runtime: guardRuntime(parts.runtime, isValid), pool, queue, demandPool };
  const { loops, housekeeping } = createLoops(config, { ...termParts, epoch }, notify);
  const started: Loop[] = [];
  const startAll = (some: readonly Loop[]) => {
    for (const loop of some) loop.start();
    started.push(...some);
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    prepare: () => leaveOtherRuntime(termParts, notify),
    start: () => {
      startAll(loops);
      timer = setTimeout(() => startAll(housekeeping), HOUSEKEEPING_AFTER_MS);
    },
    stop: async () => {
      clearTimeout(timer);
      for (const loop of started.reverse()) await loop.stop();
    },
    close: () => {
      for (const close of closes) close();
    },
  };
}

type Notify = NotifyDispatch & { jobStop: DataPlane['dispatch']['notifyJobStop'] };

function createNotify({ dispatch }: DataPlane): Notify {
  return {
    queued: (endpointId: EndpointId) => dispatch.notifyQueued(endpointId, RESCUED_AT_ONCE),
    ended: dispatch.notifyEnded.bind(dispatch),
    jobStop: dispatch.notifyJobStop.bind(dispatch),
  };
}

/** Creates the loops in the order in which they start, housekeeping last; they stop in reverse, so that the logs are stored last. */
function createLoops(
  config: Config,
  parts: LoopParts,
  notify: Notify,
): { workers: WorkerRunner; pods: PodRunner; loops: Loop[]; housekeeping: Loop[] } {
  const { pool, runtime, storage } = parts;
  const logKeeper = createLogKeeper(config, parts);
  const onStored = (bytes: number) => logKeeper.countStored(bytes);
  const logs = new LogCollector({ ...parts, rates: config.limits.logRates, onStored });
  const mounts = new WorkloadMounts({ pool, storage });
  const capacity = new CapacityLedger({ pool, runtime });
  const releaseImages = new ReleaseImages(parts);
  const memory = createFrozenMemory(config, runtime);
  const freezer = new WorkerFreezer({ ...parts, logs, memory, capacity });
  const prober = new WorkerProber({ ...parts, logs });
  const modelStore = createModelStore(config, parts);
  const modelDoor = createModelDoor(config, parts);
  const workers = createWorkerRunner(config, parts, {
    logs,
    mounts,
    ...{ modelStore, modelDoor },
    ...{ capacity, releaseImages, notify },
    onRuntimeReturn: () => freezer.retry(),
    onRead: (read) => {
      freezer.see(read);
      prober.see(read);
    },
  });
  const pods = createPodRunner(config, parts, { logs, mounts });
  const loops = [
    logs,
    workers,
    pods,
    ...[lifetimeLoop(parts), leaseLoop(parts)],
    new ClusterRunner(parts),
    prober,
    freezer,
    new EndpointScaler({
      ...parts,
      frozenBudget: memory.budgetBytes,
      onStarting: () => capacity.expectStart(),
      onThaw: (id, reason) => freezer.thaw(id, reason),
      insert: (worker) => workers.insert(worker),
    }),
    ...createJobLoops(config, parts, notify),
    ...createImageLoops(config, parts, releaseImages),
    ...createBuildLoops(config, parts),
    ...(modelDoor ? [modelDoor] : []),
  ];
  const housekeeping = [
    logKeeper,
    ...createHousekeeping(config, parts, { logs, capacity }),
    ...createAuditLoops(config, parts),
    ...createNoticeLoops(config, parts),
    ...createDiskWatch(parts, { workers, pods, modelStore }),
    ...(modelStore ? [keepModelsLoop({ ...parts, modelStore })] : []),
    pruneModelsLoop({ ...parts, hasStore: modelStore !== null }),
  ];
  return { workers, pods, loops, housekeeping };
}

function createLogKeeper({ limits, databaseUrl, dataDir }: Config, { pool, clock, logger }: TermParts): LogKeeper {
  const { logRetentionMs: retentionMs, logBytes: maxBytes } = limits;
  const readFreeBytes = databaseUrl === null ? async () => (await readDisk(dataDir)).freeBytes : null;
  return new LogKeeper({ pool, clock, logger, limits: { retentionMs, maxBytes }, readFreeBytes });
}

function createWorkerRunner(
  config: Config,
  { workerApiUrl, ...parts }: TermParts,
  own: {
    logs: LogCollector;
    mounts: WorkloadMounts;
    modelStore: ModelStore | null;
    modelDoor: ModelDoor | null;
    capacity: CapacityLedger;
    releaseImages: ReleaseImages;
    notify: Notify;
    onRuntimeReturn: () => void;
    onRead: (workers: readonly ControlledWorker[]) => void;
  },
): WorkerRunner {
  const { graceMs, leaseMs, jobStopMs } = config.limits;
  const { drainMs } = config.loadBalancing;
  const limits = { graceMs, leaseMs, drainMs, jobStopMs, perGpu: perGpuOf(config, parts.runtime) };
  const publish = { publishIp: publishIpOf(config, parts.runtime), publicUrl: config.publicUrl };
  const workloadOptions = parts.runtime.capabilities.isolation ? config.workloadOptions : NO_WORKLOAD_OPTIONS;
  return new WorkerRunner({ ...parts, ...own, ...publish, ...limits, apiUrl: workerApiUrl, workloadOptions });
}

function createPodRunner(
  config: Config,
  parts: TermParts,
  own: { logs: LogCollector; mounts: WorkloadMounts },
): PodRunner {
  const publish = { publishIp: publishIpOf(config, parts.runtime), publicUrl: config.publicUrl };
  const perGpu = perGpuOf(config, parts.runtime);
  return new PodRunner({ ...parts, ...own, ...publish, perGpu, graceMs: config.limits.graceMs });
}

/** The address on which TCP ports are published; null: only the cluster knows. */
function publishIpOf(config: Config, { name }: Runtime): string | null {
  return name === 'kubernetes' ? config.kubernetes.publicIp : config.publishIp;
}

/** Processes have no limits: their environment states the machine's resources. */
function perGpuOf({ perGpu }: Config, { capabilities }: Runtime): Config['perGpu'] {
  return capabilities.isolation ? perGpu : { cpus: null, memory: null };
}

function createJobLoops(
  config: Config,
  { pool, bus, clock, logger, tracing, queue, webhooks }: TermParts,
  notify: Notify,
): Loop[] {
  const { leaseMs, jobStopMs, batchRetentionMs: retentionMs } = config.limits;
  return [
    new JobRescuer({ pool, bus, logger, queue, notify, leaseMs, jobStopMs }),
    new BatchRunner({ pool, bus, clock, logger, queue, notify, retentionMs }),
    new WebhookDeliverer({ pool, bus, logger, queue, tracing, webhooks }),
  ];
}

/** Ends what another runtime than this one was running: its jobs are rescued, its pods start again. */
async function leaveOtherRuntime({ pool, bus, logger, runtime, queue }: TermParts, notify: Notify): Promise<void> {
  const left = await leaveRuntime(pool, runtime.name);
  if (left === null) return;
  const { workerIds, podIds } = left;
  await rescueLeases(queue, notify, workerIds);
  const fields = { from: left.runtime, to: runtime.name, workers: workerIds.length, pods: podIds.length };
  logger.warn(fields, 'runtime changed: starting workloads again');
  for (const id of workerIds) bus.publish('worker', id);
  for (const id of podIds) bus.publish('pod', id);
}

/** The budget is computed once: it is a share of what the runtime's machine has, which does not change. */
function createFrozenMemory({ frozenMemory }: Config, runtime: Runtime): FrozenMemory {
  let budget: Promise<number> | undefined;
  const readBudget = async () => {
    if (runtime.capabilities.freeze === null) return 0;
    return 'bytes' in frozenMemory ? frozenMemory.bytes : frozenMemory.share * (await runtime.capacity()).memoryBytes;
  };
  return {
    budgetBytes: () => {
      budget ??= readBudget().catch((error) => {
        budget = undefined;
        throw error;
      });
      return budget;
    },
    // Other machines that hold parked workers look after their own memory.
    isScarce: () => runtime.capabilities.freeze === 'freezer' && freemem() < SCARCE_SHARE * totalmem(),
  };
}
