import type { Id, UserId } from '../../core/ids.ts';

export type DestinationId = Id<'destination'>;

/** Events that notices report. Fixed for good: webhooks carry them. */
export const NOTICE_EVENTS = [
  'ENDPOINT_FAILING',
  'WAITING_FOR_CAPACITY',
  'QUEUE_SLOW',
  'BUDGET',
  'KEY_EXPIRES',
  'DISK',
  'LEADER_CHANGED',
  'AUDIT_STREAM',
  'UPDATE_AVAILABLE',
] as const;
export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

/** Events of the installation itself, for its own destinations only. */
export const INSTALLATION_EVENTS: readonly NoticeEvent[] = [
  'DISK',
  'LEADER_CHANGED',
  'AUDIT_STREAM',
  'UPDATE_AVAILABLE',
];

/** SLACK and TEAMS: webhooks with the JSON that these, and what is compatible with them, take. */
export const DESTINATION_KINDS = ['EMAIL', 'WEBHOOK', 'SLACK', 'TEAMS'] as const;
export type DestinationKind = (typeof DESTINATION_KINDS)[number];

/** Where notices go. Its URL and its secret are write-only. */
export interface Destination {
  id: DestinationId;
  /** The user or team whose records are reported; null: the installation, with the records of all. */
  userId: UserId | null;
  name: string;
  kind: DestinationKind;
  /** An email address, or the host of the URL. */
  address: string;
  events: NoticeEvent[];
  /** How long an endpoint waits for capacity, or a job in its queue, before that is reported. */
  waitMinutes: number;
  isEnabled: boolean;
  createdAt: Date;
}

/** The sealed part of a destination with a URL. */
export interface DestinationSecret {
  url: string;
  /** Signs what is sent; null where the receiver checks no signature. */
  signing: string | null;
}

/** A condition as a notice shows it. */
export interface NoticeItem {
  event: NoticeEvent | 'TEST';
  phase: 'BEGAN' | 'ENDED';
  /** Name of the record; null: the installation. */
  name: string | null;
  /** Whose record it is; null: the installation's. */
  owner: string | null;
  /** One sentence without a period. */
  detail: string;
  /** The console's page, such as `/endpoints/k3v8q2m7c1x9za`. */
  page: string;
}

/** Something that holds now, of one record. */
export interface Condition extends NoticeItem {
  event: NoticeEvent;
  /** Distinguishes it from others of the same event. */
  subject: string;
  /** The accounts whose destinations are notified; that of the record's owner first. Empty: only the installation's. */
  accounts: readonly UserId[];
}

/** The content of one message. `more`: how many items it leaves out. */
export interface NoticeMessage {
  /** The same for each try, so that receivers can drop what comes twice. */
  id: string;
  items: readonly NoticeItem[];
  more: number;
}

/** Sends to destinations. Rejects with a sentence for people if it was not accepted. */
export interface NoticeSender {
  /** To what email may go: the rules of the operator; null: this server sends no mail. */
  readonly mail: { anyRecipientIn: readonly string[] } | null;
  send(destination: DestinationAddress, message: NoticeMessage, signal: AbortSignal): Promise<void>;
}

/** Where to send. `secret`: of a URL. */
export interface DestinationAddress {
  kind: DestinationKind;
  address: string;
  secret: DestinationSecret | null;
}
