/** Decides what a destination is told next. Pure: time is an argument. */
import type { Condition, NoticeEvent, NoticeItem } from './notice.ts';

/** A condition that a destination was told of, and that may hold no longer. */
export interface OpenNotice {
  event: NoticeEvent;
  subject: string;
  item: NoticeItem;
  /** Null: it was there at the last look. */
  absentSince: Date | null;
}

export interface NoticeDecision {
  /** To be told. */
  begin: Condition[];
  /** To be told as ended, or forgotten where there is nothing to tell. */
  end: OpenNotice[];
  /** Not there any more, but not for long enough. */
  absent: OpenNotice[];
  /** There again before they ended: nothing is told. */
  returned: OpenNotice[];
}

/** A condition is over when it was absent for this long: an endpoint that recovers and fails again every minute is told once. */
const QUIET_MS = 5 * 60_000;
/** Nobody is told that these are over. */
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

/** True if the end is told. */
export function tellsEnd({ event }: Pick<OpenNotice, 'event'>): boolean {
  return !WITHOUT_END.includes(event);
}
