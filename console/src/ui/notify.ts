import { notifications } from '@mantine/notifications';
import { ApiError, messageOf } from '../api/api-error.ts';
import { visibleText } from './text/visible-text.ts';

/** Without a label of its own, the button has no name for screen readers. */
const closeButtonProps = { 'aria-label': 'Dismiss' };

/** Shows the server's error detail, and each field error below it. */
export function notifyError(error: unknown): void {
  const errors = error instanceof ApiError ? error.errors : [];
  notifications.show({
    color: 'red',
    title: visibleText(messageOf(error)),
    message: visibleText(errors.join('\n')),
    autoClose: 8_000,
    closeButtonProps,
  });
}

export function notifySuccess(message: string): void {
  notifications.show({ color: 'teal', message: visibleText(message), closeButtonProps });
}
