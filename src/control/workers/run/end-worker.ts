import type { BoundedMap } from '../../../core/bounded-map.ts';
import type { WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Bus } from '../../../db/bus.ts';
import { quoteOutput } from '../../../domain/logs/quote-output.ts';
import type { ControlledWorker, ExitedWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import type { WorkerModels } from '../../models/worker-models.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import { type LastOutputDeps, readLastOutput } from '../../workloads/read-last-output.ts';
import type { WorkerAction } from './decide-worker.ts';
import type { PhaseWriter } from './phase-writer.ts';

const LOG_TIMEOUT_MS = 500;

export type StopDeps = FinalizeDeps & { phases: Pick<PhaseWriter, 'stopping'> };

/**
 * Stops a worker's container and records its exit. Idempotent. A lost worker stays wanted until its exit is recorded: were it
 * ordered to stop, the scaler would replace it before it counts as a failed start.
 */
export async function stopWorker(
  deps: StopDeps,
  worker: ControlledWorker,
  { graceMs, cause, reason, isLost }: Extract<WorkerAction, { do: 'stop' }>,
): Promise<void> {
  const { phases, logs, runtime } = deps;
  if (!isLost) await phases.stopping({ id: worker.id, cause, reason });
  logs.system(worker.id, `stops: ${reason}`);
  const output = isLost ? await readLastOutput(deps, worker.id) : [];
  await runtime.stop(worker.id, graceMs);
  await logs.finish(worker.id, LOG_TIMEOUT_MS);
  logs.system(worker.id, 'stopped');
  await recordExit(deps, worker, { code: null, cause, reason, isLost }, output);
}

/** How long the log of an ended container may take to arrive. */
const ENDED_LOG_TIMEOUT_MS = 2_000;

export interface FinalizeDeps extends LastOutputDeps {
  bus: Pick<Bus, 'publish'>;
  logger: Logger;
  runtime: Pick<Runtime, 'stop' | 'lastOutput'>;
  logs: Pick<LogCollector, 'system' | 'finish'>;
  phases: Pick<PhaseWriter, 'exited'>;
  models: Pick<WorkerModels, 'release'>;
  /** How workers ended whose exit could not be written yet: their containers, which told it, are gone. */
  unrecorded: BoundedMap<WorkerId, { exit: WorkerExit; output: readonly string[] }>;
}

export type WorkerExit = Omit<ExitedWorker, 'id'>;

/**
 * Finalizes a worker without a running container: stores the rest of its log, removes what is left of the container and
 * records its exit. Idempotent.
 */
export async function finalizeWorker(deps: FinalizeDeps, worker: ControlledWorker, exit: WorkerExit): Promise<void> {
  const known = deps.unrecorded.get(worker.id);
  if (known !== undefined) {
    await deps.runtime.stop(worker.id, 0);
    return recordExit(deps, worker, known.exit, known.output);
  }
  let output: string[] = [];
  if (worker.phase !== 'PENDING') {
    deps.logs.system(worker.id, `ended: ${exit.reason}`);
    await deps.logs.finish(worker.id, ENDED_LOG_TIMEOUT_MS);
    if (exit.isLost) output = await readLastOutput(deps, worker.id);
    await deps.runtime.stop(worker.id, 0);
  }
  await recordExit(deps, worker, exit, output);
}

/**
 * Records that a worker is gone: its token dies, its jobs go back to the queue, and the scaler is notified. `output`, the last
 * lines that a lost one printed, goes into its reason for its user; the operator's log has the sentence only. Where the exit cannot be
 * written, the next try to finalize the worker writes it.
 */
export async function recordExit(
  {
    phases,
    logger,
    bus,
    models,
    unrecorded,
  }: Pick<FinalizeDeps, 'phases' | 'logger' | 'bus' | 'models' | 'unrecorded'>,
  { id, endpointId, phase }: ControlledWorker,
  exit: WorkerExit,
  output: readonly string[] = [],
): Promise<void> {
  if (phase !== 'PENDING') unrecorded.set(id, { exit, output }); // a pending one may still start, and end otherwise
  await models.release({ id });
  await phases.exited({ id, ...exit, reason: quoteOutput(exit.reason, output) });
  unrecorded.delete(id);
  logger[exit.isLost ? 'warn' : 'info']({ endpointId, workerId: id, reason: exit.reason }, 'worker ended');
  bus.publish('worker', id);
  bus.publish('key', id); // its own key is gone
  bus.publish('demand', endpointId);
}
