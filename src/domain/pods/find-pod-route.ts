import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** The facts about a pod that the proxy needs. */
export interface PodRoute {
  isRunning: boolean;
  /** The ports that it exposes over HTTP; no others are proxied. */
  httpPorts: number[];
  /** The owner of a private pod, whose keys open it; null: everybody may connect. */
  privateTo: UserId | null;
  address: string | null;
}

/**
 * Finds a pod's route by its id, whoever owns it: the caller checks access (docs/interface/queue.md, "Pod proxy"). Undefined if the pod is
 * missing or terminated. The topic `pod` notifies of changes.
 */
export async function findPodRoute(db: Db, podId: string): Promise<PodRoute | undefined> {
  const result = await db.query<Omit<PodRoute, 'httpPorts'> & { ports: string[] }>({
    name: 'pod-route',
    text: `select wanted = 'RUN' and phase = 'RUNNING' and phase_revision = revision as "isRunning", ports, address,
             case when is_private then user_id end as "privateTo"
           from pods where id = $1 and wanted <> 'TERMINATE'`,
    values: [podId],
  });
  if (!result.rows[0]) return undefined;
  const { ports, ...row } = result.rows[0];
  const httpPorts = ports.filter((port) => port.endsWith('/http')).map((port) => Number.parseInt(port, 10));
  return { ...row, httpPorts };
}
