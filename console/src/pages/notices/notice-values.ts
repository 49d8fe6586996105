import type { Schemas } from '../../api/client.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';
import { formatCount } from '../../ui/text/format.ts';
import type { StatusLook } from '../../ui/text/labels.ts';

export type Destination = Schemas['NoticeDestination'];
export type Delivery = Schemas['NoticeDeliveryList']['deliveries'][number];
type Event = Destination['events'][number];

export const KINDS: { value: Destination['kind']; label: string }[] = [
  { value: 'EMAIL', label: 'Email' },
  { value: 'WEBHOOK', label: 'Webhook, signed' },
  { value: 'SLACK', label: 'Slack, or what takes its JSON' },
  { value: 'TEAMS', label: 'Microsoft Teams workflow' },
];

export const EVENTS: { value: Event; label: string; isOfInstallation?: true }[] = [
  { value: 'ENDPOINT_FAILING', label: 'An endpoint fails' },
  { value: 'WAITING_FOR_CAPACITY', label: 'An endpoint waits for capacity' },
  { value: 'QUEUE_SLOW', label: 'Jobs wait long' },
  { value: 'BUDGET', label: 'A budget passes a threshold' },
  { value: 'KEY_EXPIRES', label: 'A key expires soon' },
  { value: 'DISK', label: 'The disk is nearly full', isOfInstallation: true },
  { value: 'LEADER_CHANGED', label: 'The leader changes', isOfInstallation: true },
  { value: 'AUDIT_STREAM', label: 'The audit log is not sent', isOfInstallation: true },
  { value: 'UPDATE_AVAILABLE', label: 'A newer version of Podyard is available', isOfInstallation: true },
];

export const STATES = {
  FAILING: { label: 'Fails', color: 'red' },
  OK: { label: 'Works', color: 'green' },
  OFF: { label: 'Off', color: 'gray' },
} satisfies Record<string, StatusLook>;

export const DELIVERY_STATES: Readonly<Record<Delivery['status'], StatusLook>> = {
  SENT: { label: 'Sent', color: 'green' },
  WAITING: { label: 'Waiting', color: 'yellow' },
  GIVEN_UP: { label: 'Given up', color: 'red' },
};

export interface DestinationForm {
  name: string;
  kind: Destination['kind'];
  email: string;
  url: string;
  events: Event[];
  waitMinutes: number | string;
  isEnabled: boolean;
}

export type Scope = Destination['scope'];

export function eventsOf(scope: Scope): typeof EVENTS {
  return EVENTS.filter(({ isOfInstallation }) => scope === 'INSTALLATION' || !isOfInstallation);
}

/** `An endpoint fails, a key expires soon`, or that it is all of them. */
export function eventsText(scope: Scope, events: readonly Event[]): string {
  const all = eventsOf(scope);
  if (all.every(({ value }) => events.includes(value))) return 'Everything';
  const labels = all.filter(({ value }) => events.includes(value)).map(({ label }) => label);
  return labels
    .map((label, index) => (index === 0 ? label : label.charAt(0).toLowerCase() + label.slice(1)))
    .join(', ');
}

/** Returns what a destination is sent, about which records, and how. */
export function destinationSummary(
  scope: Scope,
  { kind, events, waitMinutes, isEnabled }: DestinationForm,
): SummaryText {
  const waits = events.some((event) => event === 'WAITING_FOR_CAPACITY' || event === 'QUEUE_SLOW');
  return {
    facts: [
      { label: 'Told of', value: events.length === 0 ? 'nothing' : eventsText(scope, events) },
      {
        label: 'From',
        value: scope === 'ACCOUNT' ? 'the records of this account' : 'all records, and the installation',
      },
      ...(waits ? [{ label: 'Waiting', value: `told after ${formatCount(Number(waitMinutes), 'minute')}` }] : []),
      { label: 'Sent', value: HOW_SENT[kind] },
    ],
    warning: isEnabled ? null : 'It is off: nothing is sent to it.',
  };
}

const HOW_SENT: Record<Destination['kind'], string> = {
  EMAIL: 'by email, what is alike in one',
  WEBHOOK: 'as JSON, signed with a secret that is shown once',
  SLACK: 'as a message in the channel of the URL',
  TEAMS: 'as a message in the channel of the URL',
};

/** The URL of a destination is not known: an empty one leaves it as it is. */
export function destinationForm(scope: Scope, destination?: Destination): DestinationForm {
  const events = eventsOf(scope).map(({ value }) => value);
  if (!destination) return { name: '', kind: 'EMAIL', email: '', url: '', events, waitMinutes: 10, isEnabled: true };
  const { name, kind, address, waitMinutes, enabled } = destination;
  const email = kind === 'EMAIL' ? address : '';
  return { name, kind, email, url: '', events: destination.events, waitMinutes, isEnabled: enabled };
}

export function createBody(scope: Scope, values: DestinationForm): Schemas['CreateNoticeDestinationRequest'] {
  return { ...commonOf(values), kind: values.kind, scope };
}

export function updateBody(values: DestinationForm): Schemas['UpdateNoticeDestinationRequest'] {
  return { ...commonOf(values), enabled: values.isEnabled };
}

function commonOf({ name, kind, email, url, events, waitMinutes }: DestinationForm) {
  const address = kind === 'EMAIL' ? { email: email.trim() } : url.trim() === '' ? {} : { url: url.trim() };
  return { name: name.trim(), ...address, events, waitMinutes: Number(waitMinutes) };
}

export function stateOf({ enabled, lastError }: Pick<Destination, 'enabled' | 'lastError'>): keyof typeof STATES {
  if (!enabled) return 'OFF';
  return lastError === null ? 'OK' : 'FAILING';
}

/** Returns a message in one line. */
export function deliveryText({ items, more }: Pick<Delivery, 'items' | 'more'>): string {
  const texts = items.map(({ event, phase, name }) => {
    const label = EVENTS.find(({ value }) => value === event)?.label ?? 'A test';
    return `${label}${name === null ? '' : `: ${name}`}${phase === 'ENDED' ? ' (over)' : ''}`;
  });
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
