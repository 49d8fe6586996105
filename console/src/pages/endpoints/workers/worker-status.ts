import type { Schemas } from '../../../api/client.ts';
import { labelOf, type StatusLook } from '../../../ui/text/labels.ts';

export type WorkerStatus = Schemas['WorkerDetail']['status'];

/** How the states of workers are shown. `reasonColor` is for a reason why a worker is in it. */
export const WORKER_STATUSES = {
  RUNNING: { label: 'Running', color: 'green', reasonColor: 'orange' },
  IDLE: { label: 'Idle', color: 'cyan', reasonColor: 'orange' },
  INITIALIZING: { label: 'Initializing', color: 'blue', reasonColor: 'blue' },
  THROTTLED: { label: 'Throttled', color: 'orange', reasonColor: 'orange' },
  UNHEALTHY: { label: 'Unhealthy', color: 'red', reasonColor: 'red' },
  FROZEN: { label: 'Frozen', color: 'indigo', reasonColor: 'orange' },
  EXITED: { label: 'Exited', color: 'gray', reasonColor: 'gray' },
} as const satisfies Record<WorkerStatus, StatusLook & { reasonColor: string }>;

/** Returns the workers whose log can be chosen: live ones, those that ended lately, and `wanted`, whatever became of it. */
export function workerOptions(
  workers: readonly { id: string; status: WorkerStatus }[],
  wanted: string | null,
  ended: readonly { id: string }[] = [],
): { value: string; label: string }[] {
  const labels = new Map<string, string>(workers.map(({ id, status }) => [id, labelOf(WORKER_STATUSES, status)]));
  const gone = [...ended.map(({ id }) => id), ...(wanted === null ? [] : [wanted])];
  for (const id of gone) if (!labels.has(id)) labels.set(id, 'Ended');
  return [...labels].map(([id, label]) => ({ value: id, label: `${id} · ${label}` }));
}
