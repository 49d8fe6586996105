import type { EndpointSnapshot, EndpointState } from '../../api/live-snapshots.ts';
import { formatDate, formatNumber } from '../../ui/text/format.ts';
import { labelOf } from '../../ui/text/labels.ts';
import { splitReason } from '../../ui/text/reason.ts';
import { ENDPOINT_STATES } from './endpoint-states.ts';

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** `Failing since 10:41`; with the date if that was not today. */
export function stateTitle({ state, since }: EndpointState, now = new Date()): string {
  const label = labelOf(ENDPOINT_STATES, state);
  if (since === null) return label;
  const at = new Date(since);
  const isToday = at.toDateString() === now.toDateString();
  return `${label} since ${isToday ? TIME.format(at) : formatDate(since)}`;
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

/** Returns the last line of a reason with output, which usually names the error; else its sentence. */
export function briefReason(reason: string): string {
  const { sentence, output } = splitReason(reason);
  return output.trim().split('\n').at(-1) || sentence;
}

/** From this share of the limit on, its reason is shown. */
const NEAR = 0.8;

/** `of 1,500`: how many jobs the queue takes. */
export function queueNote(snapshot: EndpointSnapshot | undefined): string | undefined {
  return snapshot?.queueLimit ? `of ${formatNumber(snapshot.queueLimit.jobs)}` : undefined;
}

/** True once further jobs are refused. */
export function isQueueFull({ queueLimit, jobs }: EndpointSnapshot): boolean {
  return !!queueLimit && jobs.inQueue > queueLimit.jobs;
}

/** Says what the queue takes and why, for a paused endpoint and for a queue that is nearly full; else null. */
export function queueText(snapshot: EndpointSnapshot): string | null {
  const { queueLimit, jobs, state } = snapshot;
  if (!queueLimit) return null;
  const isPaused = state.state === 'PAUSED' && state.reason?.startsWith('workers.max is 0');
  if (!isPaused && jobs.inQueue < NEAR * queueLimit.jobs) return null;
  const limit = `The limit is ${formatNumber(queueLimit.jobs)} with ${queueLimit.reason}.`;
  return isQueueFull(snapshot) ? `The queue is full: new jobs are refused. ${limit}` : `Queued jobs wait. ${limit}`;
}
