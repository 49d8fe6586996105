import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '../../db/pool.ts';
import type { Pod } from '../pods/pod.ts';
import { listClusterPodRows } from '../pods/pod-store.ts';
import type { Cluster } from './cluster.ts';
import { getClusterRow } from './cluster-store.ts';

const POLL_MS = 50;
const LIMIT_MS = 3_000;

/**
 * Returns the pods of a new cluster by rank, once all have addresses on its network: some clients read them only from the
 * response to a create. Returns them without after three seconds, and at once when the cluster has to wait for room.
 * Throws `notFound` if it is deleted meanwhile.
 */
export async function listPodsOnNetwork(pool: Pool, { userId, id }: Cluster): Promise<Pod[]> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const pods = await listClusterPodRows(pool, userId, id);
    const { phase, phaseReason } = await getClusterRow(pool, userId, id);
    const isWaiting = phase === 'WAITING' && phaseReason !== null;
    if (isWaiting || waitedMs >= LIMIT_MS || pods.every(({ cluster }) => cluster?.ip)) return pods;
    await sleep(POLL_MS);
  }
}
