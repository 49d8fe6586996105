import { enumLabel } from '../../ui/enum-label.ts';

interface WorkerStatus {
  id: string;
  status: string;
}

/**
 * Returns the workers whose log can be chosen, those that ended lately last, and the chosen one: the one asked for, else the
 * newest, else the last that ended. A worker that is asked for stays a choice after it ended.
 */
export function workerOptions(
  workers: readonly WorkerStatus[],
  wanted: string | null,
  ended: readonly { id: string }[] = [],
) {
  const known = [...workers, ...ended.map(({ id }) => ({ id, status: 'ENDED' }))];
  const chosen = wanted ?? workers.at(-1)?.id ?? ended[0]?.id ?? null;
  const isListed = known.some(({ id }) => id === chosen);
  const listed = chosen === null || isListed ? known : [...known, { id: chosen, status: 'ENDED' }];
  return { chosen, options: listed.map(({ id, status }) => ({ value: id, label: `${id} · ${enumLabel(status)}` })) };
}
