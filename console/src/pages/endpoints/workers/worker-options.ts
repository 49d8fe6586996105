import { enumLabel } from '../../../ui/text/enum-label.ts';

interface WorkerStatus {
  id: string;
  status: string;
}

/** Returns the workers whose log can be chosen: live ones, those that ended lately, and `wanted`, whatever became of it. */
export function workerOptions(
  workers: readonly WorkerStatus[],
  wanted: string | null,
  ended: readonly { id: string }[] = [],
): { value: string; label: string }[] {
  const live = new Set(workers.map(({ id }) => id));
  const gone = ended.filter(({ id }) => !live.has(id)).map(({ id }) => ({ id, status: 'ENDED' }));
  const known = [...workers, ...gone];
  const isListed = wanted === null || known.some(({ id }) => id === wanted);
  const listed = isListed ? known : [...known, { id: wanted, status: 'ENDED' }];
  return listed.map(({ id, status }) => ({ value: id, label: `${id} · ${enumLabel(status)}` }));
}
