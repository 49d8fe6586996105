/** Decides which notices a destination gets next. Pure: time is an argument. */
import type { Condition, NoticeEvent, NoticeItem } from './notice.ts';

/** A condition that was reported to a destination, and may have ended. */
export interface OpenNotice {
  event: NoticeEvent;
  subject: string;
  item: NoticeItem;
  /** Null: it was there at the last look. */
  absentSince: Date | null;
}

export interface NoticeDecision {
  /** To be reported. */
  begin: Condition[];
  /** To be reported as ended, or closed without a notice. */
  end: OpenNotice[];
  /** Not there any more, but not for long enough. */
  absent: OpenNotice[];
  /** Present again before they counted as ended: nothing is sent. */
  returned: OpenNotice[];
}

/** A condition has ended once it was absent for this long, so that an endpoint that recovers and fails every minute is reported once. */
const QUIET_MS = 5 * 60_000;
/** Events without a notice of their end. */
const WITHOUT_END: readonly NoticeEvent[] = ['BUDGET', 'KEY_EXPIRES', 'LEADER_CHANGED'];

/** Decided and carried out twice, the second time there is nothing. `unknown`: events that may hold or not. */
export function decideNotices(
  conditions: readonly Condition[],
  open: readonly OpenNotice[],
  unknown: readonly NoticeEvent[],
  nowMs: number,
): NoticeDecision {
  const keyOf = ({ event, subject }: { event: NoticeEvent; subject: string }) => `${event} ${subject}`;
  const told = new Set(open.map(keyOf));
  const holding = new Set(conditions.map(keyOf));
  const gone = open.filter((notice) => !holding.has(keyOf(notice)) && !unknown.includes(notice.event));
  const isOver = ({ event, absentSince }: OpenNotice) =>
    WITHOUT_END.includes(event) || (absentSince !== null && nowMs - absentSince.getTime() >= QUIET_MS);
  return {
    begin: conditions.filter((condition) => !told.has(keyOf(condition))),
    end: gone.filter(isOver),
    absent: gone.filter((notice) => notice.absentSince === null && !isOver(notice)),
    returned: open.filter((notice) => notice.absentSince !== null && holding.has(keyOf(notice))),
  };
}

/** True if the end of the event is reported. */
export function reportsEnd({ event }: Pick<OpenNotice, 'event'>): boolean {
  return !WITHOUT_END.includes(event);
}
