import { enumLabel } from '../../ui/enum-label.ts';

interface WorkerStatus {
  id: string;
  status: string;
}

/**
 * Returns the workers whose log can be chosen, and the chosen one: the one asked for, else the newest. A worker that is
 * asked for stays a choice after it ended.
 */
export function workerOptions(workers: readonly WorkerStatus[], wanted: string | null) {
  const chosen = wanted ?? workers.at(-1)?.id ?? null;
  const isListed = workers.some(({ id }) => id === chosen);
  const listed = chosen === null || isListed ? workers : [...workers, { id: chosen, status: 'ENDED' }];
  return { chosen, options: listed.map(({ id, status }) => ({ value: id, label: `${id} · ${enumLabel(status)}` })) };
}
