import { useDocumentVisibility } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { request } from './client.ts';
import { followEvents, readEvents } from './follow-events.ts';
import { sleepOrRestored } from './server-connection.ts';

/**
 * Follows an event stream while the component is mounted and the page is visible; calls `onEvent` with the data of each
 * event. Returns whether the stream is open.
 */
function useEvents(path: string, onEvent: (data: string) => void): boolean {
  const [isOpen, setOpen] = useState(false);
  const isVisible = useDocumentVisibility() === 'visible';
  const handler = useRef(onEvent);
  handler.current = onEvent;
  const last = useRef<{ path: string; id: string | null }>({ path, id: null });

  useEffect(() => {
    if (!isVisible) return;
    if (last.current.path !== path) last.current = { path, id: null };
    const controller = new AbortController();
    void followEvents({
      connect: (lastId) => connect(path, lastId, controller.signal),
      lastId: last.current.id,
      onEvent: ({ id, data }) => {
        last.current.id = id ?? last.current.id;
        handler.current(data);
      },
      onConnection: setOpen,
      sleep: sleepOrRestored,
      signal: controller.signal,
    });
    return () => {
      controller.abort();
      setOpen(false);
    };
  }, [path, isVisible]);
  return isOpen;
}

/** Fetches instead of using EventSource, which cannot send the API key in a header. */
async function* connect(path: string, lastId: string | null, signal: AbortSignal) {
  const headers: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId };
  const response = await request(path, { signal, headers });
  yield* readEvents(response.body!);
}

/** Returns the latest snapshot of a live view, or undefined until the first one of `path` arrives. */
export function useLive<Snapshot>(path: string): { snapshot: Snapshot | undefined; isOpen: boolean } {
  const [held, setHeld] = useState<{ path: string; snapshot: Snapshot } | null>(null);
  const isOpen = useEvents(path, (data) => setHeld({ path, snapshot: JSON.parse(data) as Snapshot }));
  return { snapshot: held?.path === path ? held.snapshot : undefined, isOpen };
}
