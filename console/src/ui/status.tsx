import { Badge, Tooltip } from '@mantine/core';

const COLORS: Record<string, string> = {
  RUNNING: 'green',
  IDLE: 'cyan',
  INITIALIZING: 'blue',
  THROTTLED: 'orange',
  UNHEALTHY: 'red',
  PROVISIONING: 'blue',
  STARTING: 'blue',
  EXITED: 'gray',
  ERROR: 'red',
  TERMINATED: 'gray',
  COMPLETED: 'green',
  FAILED: 'red',
  CANCELLED: 'gray',
  TIMED_OUT: 'orange',
  IN_QUEUE: 'blue',
  IN_PROGRESS: 'cyan',
  NONE: 'gray',
  LOW: 'orange',
  MEDIUM: 'yellow',
  HIGH: 'green',
};

/** A state by its word first; the colour only helps. */
export function Status({ value, reason }: { value: string; reason?: string | null }) {
  const badge = (
    <Badge
      variant="dot"
      color={COLORS[value] ?? 'gray'}
      radius="sm"
      tt="none"
      {...(reason ? { tabIndex: 0, title: reason } : {})}
    >
      {value}
    </Badge>
  );
  return reason ? (
    <Tooltip label={reason} multiline maw={360}>
      {badge}
    </Tooltip>
  ) : (
    badge
  );
}
