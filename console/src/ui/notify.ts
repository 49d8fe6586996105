import { ApiError, messageOf } from '../api/api-error.ts';
import { visibleText } from './text/visible-text.ts';
import { loadToasts } from './toasts.tsx';

/** Without a label of its own, the button has no name for screen readers. */
const closeButtonProps = { 'aria-label': 'Dismiss' };

/** Shows the server's error detail, and each field error below it. */
export function notifyError(error: unknown): void {
  const errors = error instanceof ApiError ? error.errors : [];
  show({
    color: 'red',
    title: visibleText(messageOf(error)),
    message: visibleText(errors.join('\n')),
    autoClose: 8_000,
  });
}

export function notifySuccess(message: string): void {
  show({ color: 'teal', message: visibleText(message) });
}

function show(toast: { color: string; title?: string; message: string; autoClose?: number }): void {
  loadToasts().then(
    ({ notifications }) => notifications.show({ ...toast, closeButtonProps }),
    () => {}, // the page says that the server is away
  );
}
