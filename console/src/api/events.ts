import { useEffect, useRef, useState } from 'react';
import { request } from './client.ts';

interface ServerEvent {
  id: string | null;
  data: string;
}

const MAX_BACKOFF_MS = 10_000;

/** Server-sent events of a path, with the key in the header (EventSource cannot send one); ends when the stream does. */
async function* readEvents(path: string, lastId: string | null, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const response = await request(path, { signal, headers: lastId === null ? {} : { 'last-event-id': lastId } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split('\n\n');
    text = events.pop()!;
    for (const event of events) {
      const field = (name: string) =>
        event
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) yield { id: field('id') ?? null, data };
    }
  }
}

/**
 * Follows a stream for as long as the component lives and the page is seen: connects again after a break, where it left
 * off when its events carry ids. `onEvent` gets every event's data. Answers whether the stream is open.
 */
export function useEvents(path: string | null, onEvent: (data: string) => void): boolean {
  const [isOpen, setOpen] = useState(false);
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible');
  const handler = useRef(onEvent);
  handler.current = onEvent;
  const last = useRef<{ path: string | null; id: string | null }>({ path: null, id: null });

  useEffect(() => {
    const onChange = () => setVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  }, []);

  useEffect(() => {
    if (path === null || !isVisible) return;
    if (last.current.path !== path) last.current = { path, id: null };
    const controller = new AbortController();
    const follow = async () => {
      let backoffMs = 500;
      while (!controller.signal.aborted) {
        try {
          for await (const event of readEvents(path, last.current.id, controller.signal)) {
            setOpen(true);
            backoffMs = 500;
            if (event.id !== null) last.current.id = event.id;
            handler.current(event.data);
          }
        } catch {
          // The next attempt says whether it was for long.
        }
        if (controller.signal.aborted) return;
        setOpen(false);
        await new Promise((resolve) => setTimeout(resolve, backoffMs));
        backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
      }
    };
    void follow();
    return () => {
      controller.abort();
      setOpen(false);
    };
  }, [path, isVisible]);
  return isOpen;
}

/** The newest snapshot of a live view. */
export function useLive<Snapshot>(path: string | null): { snapshot: Snapshot | undefined; isOpen: boolean } {
  const [held, setHeld] = useState<{ path: string | null; snapshot: Snapshot | undefined }>({
    path,
    snapshot: undefined,
  });
  const isOpen = useEvents(path, (data) => setHeld({ path, snapshot: JSON.parse(data) as Snapshot }));
  return { snapshot: held.path === path ? held.snapshot : undefined, isOpen };
}
