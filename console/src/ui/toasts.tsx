import { type ComponentType, lazy, Suspense, useSyncExternalStore } from 'react';
import { loadPart } from '../api/page-version.ts';

let isWanted = false;
const listeners = new Set<() => void>();

/** Loads what shows short messages. It comes after the first page, or with the first message. */
export function loadToasts(): Promise<typeof import('@mantine/notifications')> {
  isWanted = true;
  for (const listener of listeners) listener();
  return loadPart(() => import('@mantine/notifications'));
}

const Notifications = lazy<ComponentType<{ position: 'bottom-right' }>>(() =>
  loadToasts().then(
    (module) => ({ default: module.Notifications }),
    () => ({ default: () => null }),
  ),
);

/** The place for short messages, at the edge of the screen. */
export function Toasts() {
  const isShown = useSyncExternalStore(subscribe, () => isWanted);
  return isShown ? (
    <Suspense>
      <Notifications position="bottom-right" />
    </Suspense>
  ) : null;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
