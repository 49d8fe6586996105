import { freemem, totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../config.ts';
import { Cleaner } from '../control/housekeeping/clean-up.ts';
import { VolumeKeeper } from '../control/housekeeping/keep-volumes.ts';
import { UsageMeter } from '../control/housekeeping/meter-usage.ts';
import { ImagePuller } from '../control/housekeeping/pull-ahead.ts';
import { IncidentRunner } from '../control/housekeeping/run-incidents.ts';
import { WebhookDeliverer } from '../control/jobs/deliver-webhooks.ts';
import { JobRescuer } from '../control/jobs/rescue-jobs.ts';
import { rescueLeases } from '../control/jobs/rescue-leases.ts';
import { Leadership } from '../control/leader.ts';
import { PodRunner } from '../control/pods/run-pods.ts';
import { CapacityLedger } from '../control/workers/capacity-ledger.ts';
import { type FrozenMemory, WorkerFreezer } from '../control/workers/freeze-workers.ts';
import { WorkerProber } from '../control/workers/probe-workers.ts';
import { WorkerRunner } from '../control/workers/run-workers.ts';
import { EndpointScaler } from '../control/workers/scale-endpoints.ts';
import { LogCollector } from '../control/workloads/collect-logs.ts';
import { WorkloadMounts } from '../control/workloads/workload-mounts.ts';
import type { Clock } from '../core/clock.ts';
import type { EndpointId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Tracing } from '../core/tracing.ts';
import type { DataPlane } from '../dataplane/data-plane.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { leaveRuntime } from '../domain/workers/leave-runtime.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';
import type { WorkloadStorage } from '../runtimes/storage.ts';

/** Rescued jobs come in groups: so many waiting workers look for them. */
const RESCUED_AT_ONCE = 64;

/**
 * How much garbage V8 lets gather before it collects all, in percent of what lives: by itself several times as much. Where
 * control is alone that costs nothing that was measured, and with 20,000 workers it is 60 MB less. Not for what serves
 * clients: there collections would cost them time.
 */
const COMPACT_HEAP = '--heap-growing-percent=40';

/** The loops of the leader, in one object: nothing when this process has no such role. */
export function startControl(
  config: Config,
  parts: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
    tracing: Tracing | null;
    secretBox: SecretBox;
    runtime: Runtime;
    storage: WorkloadStorage | null;
    data: DataPlane;
    workerApiUrl: string;
    databaseUrl: string;
  },
): { started: Promise<void>; stop: () => Promise<void> } {
  if (!config.roles.has('control')) return { started: Promise.resolve(), stop: async () => {} };
  if (!config.roles.has('data')) setFlagsFromString(COMPACT_HEAP);
  const { pool, bus, clock, logger, metrics, tracing, secretBox, runtime, storage, data, workerApiUrl, databaseUrl } =
    parts;
  const { queue, dispatch } = data;
  const tell = {
    queued: (endpointId: EndpointId) => dispatch.notifyQueued(endpointId, RESCUED_AT_ONCE),
    ended: dispatch.notifyEnded.bind(dispatch),
    jobStop: dispatch.notifyJobStop.bind(dispatch),
  };
  const { graceMs, leaseMs } = config.limits;
  const logs = new LogCollector({ pool, bus, runtime, logger });
  const mounts = new WorkloadMounts({ pool, storage });
  const capacity = new CapacityLedger({ pool, runtime });
  const runner = new WorkerRunner({
    pool,
    bus,
    clock,
    logger,
    runtime,
    logs,
    capacity,
    queue,
    tell,
    secretBox,
    mounts,
    apiUrl: workerApiUrl,
    graceMs,
    drainMs: config.loadBalancing.drainMs,
  });
  const publishIp = runtime.name === 'kubernetes' ? config.kubernetes.publicIp : config.publishIp;
  const pods = new PodRunner({ pool, bus, clock, logger, runtime, logs, mounts, secretBox, publishIp, graceMs });
  const memory = createFrozenMemory(config, runtime);
  const onChange = () => {
    capacity.forget();
    bus.publish('worker', ''); // whoever waits for a place looks again
  };
  const loops = [
    logs,
    runner,
    pods,
    new WorkerProber({ pool, bus, runtime, logs, metrics, logger }),
    new WorkerFreezer({ pool, bus, clock, logger, metrics, runtime, logs, memory }),
    new EndpointScaler({ pool, bus, clock, logger, frozenBudget: memory.budgetBytes }),
    new JobRescuer({ pool, bus, clock, logger, queue, tell, leaseMs }),
    new WebhookDeliverer({ pool, bus, logger, queue, tracing, allowPrivate: config.allowPrivateWebhooks }),
    new UsageMeter({ pool, logger }),
    new Cleaner({ pool, clock, logger, limits: config.limits }),
    new ImagePuller({ pool, bus, logger, runtime, secretBox }),
    ...(storage ? [new VolumeKeeper({ pool, bus, logger, logs, storage })] : []),
    ...(runtime instanceof ShortageRuntime ? [new IncidentRunner({ pool, bus, logger, runtime, onChange })] : []),
  ];
  const stopLoops = async () => {
    for (const loop of [...loops].reverse()) await loop.stop();
  };
  const leaveOther = async () => {
    const left = await leaveRuntime(pool, runtime.name);
    if (left === null) return;
    const { workerIds, podIds } = left;
    await rescueLeases(queue, tell, workerIds);
    const reason = `the ${left.runtime} runtime had ${workerIds.length} workers and ${podIds.length} pods`;
    logger.warn({ reason }, 'another runtime had the workloads: they are begun anew');
    for (const id of workerIds) bus.publish('worker', id);
    for (const id of podIds) bus.publish('pod', id);
  };
  const leadership = new Leadership({
    databaseUrl,
    logger,
    prepare: leaveOther,
    onLead: () => {
      for (const loop of loops) loop.start();
    },
    onStepDown: stopLoops,
  });
  return {
    started: leadership.start(),
    stop: async () => {
      await leadership.stop();
      if (config.stopWorkersOnExit) await Promise.all([runner.stopAll(), pods.stopAll()]);
    },
  };
}

/** Below this share of free memory the machine needs what frozen workers hold. */
const SCARCE = 0.05;

/** The budget is a share of what the runtime's machine has, which does not change. */
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
    // What is parked on other machines holds what it was given, and they see to their own memory.
    isScarce: () => runtime.capabilities.freeze === 'freezer' && freemem() < SCARCE * totalmem(),
  };
}
