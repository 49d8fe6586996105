import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { WorkloadHub } from '../control/workloads/workload-hub.ts';
import { monotonicClock } from '../core/clock.ts';
import { HubPlane } from '../dataplane/hub/hub-plane.ts';
import { PullThroughHub } from '../models/hub/pull-through-hub.ts';
import { HUB_FOLDER } from '../models/store/model-paths.ts';
import type { ServerParts } from './serving.ts';

/** Creates the hub that workloads of this machine use; null unless the operator wants one. */
export function createHub(
  { models, dataDir, hubUrl }: Config,
  {
    hubAccess: access,
    ...parts
  }: Pick<ServerParts, 'hubAccess' | 'installation' | 'webhooks' | 'metrics' | 'clock' | 'pool' | 'logger' | 'cleanUp'>,
): HubPlane | null {
  if (models.hubBudgetBytes === null || access === null) return null;
  const storeRoot = join(dataDir, 'models', parts.installation.id);
  const { fetchedBytes, evicted } = parts.metrics.hub;
  const hub = new PullThroughHub({
    ...{ hubUrl, storeRoot, root: join(storeRoot, HUB_FOLDER), reach: parts.webhooks, clock: parts.clock },
    budgetBytes: models.hubBudgetBytes,
    bytesPerSecond: models.bytesPerSecond,
    counters: { fetchedBytes: (bytes) => fetchedBytes.add(bytes), evicted: () => evicted.add() },
  });
  const plane = new HubPlane({ ...parts, access, hub, monotonic: monotonicClock });
  parts.cleanUp.add(() => plane.close());
  return plane;
}

/** Returns how workloads find that hub. */
export function createWorkloadHub({ hubAccess, runtime }: ServerParts, apiUrl: string): WorkloadHub {
  return new WorkloadHub({ access: hubAccess, apiUrl, knowsImages: runtime.name !== 'kubernetes' });
}
