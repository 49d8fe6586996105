import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { readLastOutput } from '../../workloads/read-last-output.ts';
import type { WorkerAction } from './decide-worker.ts';
import { type FinalizeDeps, recordExit } from './finalize-worker.ts';
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
