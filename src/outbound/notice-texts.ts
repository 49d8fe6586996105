/** The texts of messages about each event: what happened, and what to do. */
import type { NoticeItem, NoticeMessage } from '../domain/notices/notice.ts';

interface EventText {
  /** For one record, or the installation. */
  one: (name: string) => string;
  /** For several records. */
  many: (count: number) => string;
  ended: (name: string) => string;
  advice: string;
}

const TEXTS: Record<NoticeItem['event'], EventText> = {
  ENDPOINT_FAILING: {
    one: (name) => `Endpoint ${name} fails`,
    many: (count) => `${count} endpoints fail`,
    ended: (name) => `Endpoint ${name} works again`,
    advice: 'Read its workers’ logs. If it began with the last release, roll back.',
  },
  WAITING_FOR_CAPACITY: {
    one: (name) => `Endpoint ${name} waits for capacity`,
    many: (count) => `${count} endpoints wait for capacity`,
    ended: (name) => `Endpoint ${name} has capacity again`,
    advice: 'Add machines or GPU types, or stop what is not needed.',
  },
  QUEUE_SLOW: {
    one: (name) => `Jobs of endpoint ${name} wait long`,
    many: (count) => `Jobs of ${count} endpoints wait long`,
    ended: (name) => `Jobs of endpoint ${name} no longer wait long`,
    advice: 'Raise workers.max, or find out why jobs take longer than they did.',
  },
  BUDGET: {
    one: (name) => `Budget of ${name} has passed a threshold`,
    many: (count) => `${count} budgets have passed a threshold`,
    ended: (name) => `Budget of ${name} is below its threshold`,
    advice: 'Look at what costs most. Raise the budget, or stop what is not needed.',
  },
  KEY_EXPIRES: {
    one: (name) => `Key ${name} expires soon`,
    many: (count) => `${count} keys expire soon`,
    ended: (name) => `Key ${name} no longer expires soon`,
    advice: 'Rotate it, change the programs that use it, or let it expire.',
  },
  DISK: {
    one: () => 'The disk is nearly full',
    many: () => 'The disk is nearly full',
    ended: () => 'The disk has room again',
    advice: 'Free space or enlarge the disk: when it is full, changes and new jobs are answered with 503.',
  },
  LEADER_CHANGED: {
    one: () => 'The leader changed',
    many: () => 'The leader changed',
    ended: () => 'The leader changed',
    advice: 'Read the log of the one that led before: it was killed, hung or lost the database.',
  },
  AUDIT_STREAM: {
    one: () => 'The audit log is not sent',
    many: () => 'The audit log is not sent',
    ended: () => 'The audit log is sent again',
    advice: 'Check the receiver. Entries wait and are lost only when retention removes them.',
  },
  UPDATE_AVAILABLE: {
    one: () => 'A newer version of Podyard is available',
    many: () => 'A newer version of Podyard is available',
    ended: () => 'The newest version of Podyard runs',
    advice: 'Read what it changes, then upgrade: docs/guide/upgrade.md.',
  },
  TEST: {
    one: () => 'A test of this destination',
    many: () => 'A test of this destination',
    ended: () => 'A test of this destination',
    advice: 'Nothing: notices arrive.',
  },
};

/** Characters that would end a line or change the direction of text. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** An item as it is shown. */
export interface ShownItem {
  title: string;
  /** Whose it is; null: the installation's. */
  owner: string | null;
  detail: string;
  advice: string;
  url: string;
}

/** Returns an item's texts on one line each. `publicUrl`: without a slash at its end. */
export function showItem({ event, phase, name, owner, detail, page }: NoticeItem, publicUrl: string): ShownItem {
  const { one, ended, advice } = TEXTS[event];
  const shownName = name === null ? 'everything' : oneLine(name);
  return {
    title: phase === 'ENDED' ? ended(shownName) : one(shownName),
    owner: owner === null ? null : oneLine(owner),
    detail: oneLine(detail),
    advice: phase === 'ENDED' ? 'Nothing: it is over.' : advice,
    url: `${publicUrl}/#${page}`,
  };
}

/** Returns the line that stands for a whole message. */
export function titleOf({ items, more }: NoticeMessage): string {
  const [first] = items;
  const count = items.length + more;
  if (first === undefined) return 'Nothing';
  if (count === 1) return showItem(first, '').title;
  const isOneKind = items.every(({ event, phase }) => event === first.event && phase === first.phase);
  if (!isOneKind || first.phase === 'ENDED') return `${count} notices`;
  return TEXTS[first.event].many(count);
}

function oneLine(text: string): string {
  return text.replace(CONTROLS, ' ').slice(0, 500);
}
