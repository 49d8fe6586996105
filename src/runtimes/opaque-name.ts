import { createHash } from 'node:crypto';

/**
 * Returns what names a workload where its neighbors can read it: container names, host names and names in the cluster's DNS.
 * It does not reveal the id, which opens a pod's ports at the proxy. Stable, and nothing to store.
 */
export function opaqueName(installation: string, id: string): string {
  return createHash('sha256').update(`${installation}/${id}`).digest('hex').slice(0, 16);
}
