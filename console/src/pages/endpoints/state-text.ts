import type { EndpointState } from '../../api/live-snapshots.ts';
import { enumLabel } from '../../ui/text/enum-label.ts';
import { formatDate } from '../../ui/text/format.ts';
import { splitReason } from '../../ui/text/reason.ts';

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** True for the states that a person should look into. */
export function needsAttention(state: string): boolean {
  return state === 'FAILING' || state === 'WAITING_FOR_CAPACITY' || state === 'PAUSED';
}

/** `Failing since 10:41`; with the date if that was not today. */
export function stateTitle({ state, since }: EndpointState, now = new Date()): string {
  if (since === null) return enumLabel(state);
  const at = new Date(since);
  const isToday = at.toDateString() === now.toDateString();
  return `${enumLabel(state)} since ${isToday ? TIME.format(at) : formatDate(since)}`;
}

/** `Failing since 10:41: CUDA out of memory`. */
export function stateSentence(state: EndpointState, now = new Date()): string {
  const title = stateTitle(state, now);
  return state.reason === null ? title : `${title}: ${briefReason(state.reason)}`;
}

/** True when `briefReason` leaves nothing out. */
export function isBrief(reason: string): boolean {
  return briefReason(reason) === reason;
}

/** Of a reason with output, the last line, which usually names the error; else its sentence. */
export function briefReason(reason: string): string {
  const { sentence, output } = splitReason(reason);
  return output.trim().split('\n').at(-1) || sentence;
}
