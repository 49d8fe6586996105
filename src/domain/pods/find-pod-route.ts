import type { Db } from '../../db/pool.ts';

/** What the proxy needs to know about a pod. */
export interface PodRoute {
  isRunning: boolean;
  /** The ports that it exposes over HTTP; no others are proxied. */
  httpPorts: number[];
  address: string | null;
}

/**
 * Finds a pod's route by its id, for anybody: HTTP ports of a pod are public (docs/interface/queue.md, "Pod proxy").
 * Undefined if the pod is missing or terminated. The topic `pod` notifies of changes.
 */
export async function findPodRoute(db: Db, podId: string): Promise<PodRoute | undefined> {
  const result = await db.query<{ isRunning: boolean; ports: string[]; address: string | null }>({
    name: 'pod-route',
    text: `select wanted = 'RUN' and phase = 'RUNNING' and phase_revision = revision as "isRunning", ports, address
           from pods where id = $1 and wanted <> 'TERMINATE'`,
    values: [podId],
  });
  const row = result.rows[0];
  if (!row) return undefined;
  const httpPorts = row.ports.filter((port) => port.endsWith('/http')).map((port) => Number.parseInt(port, 10));
  return { isRunning: row.isRunning, httpPorts, address: row.address };
}
