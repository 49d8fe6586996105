import { notifications } from '@mantine/notifications';
import { ApiError } from '../api/api-error.ts';

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The server's own words: its detail, and each failure of a body. */
export function showRefusal(error: unknown): void {
  const errors = error instanceof ApiError ? error.errors : [];
  notifications.show({ color: 'red', title: messageOf(error), message: errors.join('\n'), autoClose: 8_000 });
}

export function showDone(message: string): void {
  notifications.show({ color: 'teal', message });
}
