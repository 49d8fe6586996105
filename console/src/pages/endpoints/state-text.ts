import { formatDate } from '../../ui/format.ts';

/** True for the states that a person should look into. */
export function needsAttention(state: string): boolean {
  return state === 'FAILING' || state === 'WAITING_FOR_CAPACITY' || state === 'PAUSED';
}

export function stateTitle(label: string, since: string | null): string {
  return since === null ? label : `${label} since ${formatDate(since)}`;
}
