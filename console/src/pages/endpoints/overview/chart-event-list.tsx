import { Table, Text, Tooltip, UnstyledButton } from '@mantine/core';
import type { Schemas } from '../../../api/client.ts';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { formatCount, formatDate } from '../../../ui/text/format.ts';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import { type ChartEvent, type EventGroup, groupEvents } from './chart-events.ts';

const SLOTS = 40;
const SHOWN = 6;

/** The events of a period on a line, each readable by pointer and keyboard, and as a table. */
export function ChartEventList({ events, history }: { events: readonly ChartEvent[]; history: Schemas['History'] }) {
  if (events.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No releases, and no workers that came or left, in this period.
      </Text>
    );
  }
  return (
    <div>
      <ul className="event-line" aria-label="Events of the period">
        {groupEvents(events, history, SLOTS).map((group) => (
          <li key={group.position} style={{ left: `${group.position * 100}%` }}>
            <EventMark group={group} />
          </li>
        ))}
      </ul>
      <details>
        <summary>{formatCount(events.length, 'event')}</summary>
        <SmallTable label="Events of the period" titles={['When', 'What', 'Why']} minWidth={560} mt="xs">
          {events.map((event, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two events may be equal
            <Table.Tr key={index}>
              <Table.Td>
                <RelativeTime at={event.at} />
              </Table.Td>
              <Table.Td {...(event.kind === 'lost' ? { className: 'bad' } : {})}>{event.title}</Table.Td>
              <Table.Td>{event.reason}</Table.Td>
            </Table.Tr>
          ))}
        </SmallTable>
      </details>
    </div>
  );
}

function EventMark({ group: { kind, events } }: { group: EventGroup }) {
  const lines = events.slice(0, SHOWN).map(lineOf);
  if (events.length > SHOWN) lines.push(`and ${events.length - SHOWN} more`);
  return (
    <Tooltip
      multiline
      maw={420}
      events={{ hover: true, focus: true, touch: true }}
      label={lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two events may be equal
        <div key={index}>{line}</div>
      ))}
    >
      <UnstyledButton className="event-mark" data-kind={kind} aria-label={lines.join('. ')} />
    </Tooltip>
  );
}

function lineOf({ at, title, reason }: ChartEvent): string {
  return `${formatDate(new Date(at).toISOString())}: ${title}${reason === '' ? '' : `: ${reason}`}`;
}
