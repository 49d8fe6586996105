import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesSettings } from '../../config/kubernetes-settings.ts';
import { Failure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { ApiServer } from './api-server.ts';
import { accessOf } from './cluster-access.ts';
import { readDevices, withDevices } from './device-slices.ts';
import { toNodeRecord } from './node-record.ts';
import type { ApiObject } from './objects.ts';

/** About a minute in all: the API server may start together with Podyard. */
const TRIES = 12;
const PAUSE_MS = 5_000;
/** Where the answer of the last start can be used instead. */
const SHORT_TIMEOUT_MS = 3_000;

/**
 * True when a node of the cluster has GPUs that workloads can request. While the API server is away, returns `lastKnown`
 * (the answer of the last start) at once, so that running workers are adopted without delay; null waits for the server.
 */
export async function hasGpuNodes(
  settings: KubernetesSettings,
  logger: Logger,
  lastKnown: boolean | null,
): Promise<boolean> {
  const api = new ApiServer(() => accessOf(settings));
  const limit = lastKnown === null ? {} : { timeoutMs: SHORT_TIMEOUT_MS };
  const read = async () => {
    const query = { labelSelector: settings.gpuLabel };
    const nodes = await api.json<{ items: ApiObject[] }>({ method: 'GET', path: '/api/v1/nodes', query, ...limit });
    const devices = await readDevices(api, settings.gpuResource, limit);
    const known = nodes.items.map((node) => toNodeRecord(node, settings));
    return [...withDevices(known, devices)].some(({ gpus }) => gpus > 0);
  };
  try {
    await api.access();
    for (let left = TRIES; ; left--) {
      try {
        return await read();
      } catch (error) {
        if (left === 1 || !(error instanceof Failure)) throw error;
        if (lastKnown !== null) {
          logger.warn({ err: error, hasGpus: lastKnown }, 'cluster away, using the GPU setting of the last start');
          return lastKnown;
        }
        logger.warn({ err: error }, 'waiting for the cluster');
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    await api.close();
  }
}
