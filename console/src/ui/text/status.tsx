import type { CSSProperties } from 'react';
import { enumLabel } from './enum-label.ts';
import { visibleText } from './visible-text.ts';

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
  ACTIVE: 'green',
  SUSPENDED: 'orange',
  BEING_DELETED: 'red',
  NONE: 'gray',
  LOW: 'orange',
  MEDIUM: 'yellow',
  HIGH: 'green',
};

/** A status as text, its own word or `text`; the color of its dot only supports it. */
export function Status({ value, text }: { value: string; text?: string }) {
  const color = `var(--mantine-color-${COLORS[value] ?? 'gray'}-6)`;
  return (
    <span
      className="status"
      style={{ '--status-color': color, ...(text && { whiteSpace: 'normal' }) } as CSSProperties}
    >
      {text === undefined ? enumLabel(value) : visibleText(text)}
    </span>
  );
}
