import { labelOf } from '../../../ui/text/labels.ts';
import { WORKER_STATUSES, type WorkerStatus } from './worker-status.ts';

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
