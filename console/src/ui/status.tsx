import { Badge } from '@mantine/core';
import { enumLabel } from './enum-label.ts';

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
  HEALTHY: 'green',
  SCALED_TO_ZERO: 'gray',
  WAITING_FOR_CAPACITY: 'orange',
  FAILING: 'red',
  ROLLING_OUT: 'blue',
  PAUSED: 'gray',
  FROZEN: 'indigo',
  COMPLETED: 'green',
  FAILED: 'red',
  CANCELLED: 'gray',
  CANCELLING: 'orange',
  DRAFT: 'gray',
  TIMED_OUT: 'orange',
  IN_QUEUE: 'blue',
  IN_PROGRESS: 'cyan',
  NONE: 'gray',
  LOW: 'orange',
  MEDIUM: 'yellow',
  HIGH: 'green',
};

/** A status as text; the color only supports it. */
export function Status({ value }: { value: string }) {
  return (
    <Badge variant="dot" color={COLORS[value] ?? 'gray'} radius="sm" tt="none" miw="max-content">
      {enumLabel(value)}
    </Badge>
  );
}
