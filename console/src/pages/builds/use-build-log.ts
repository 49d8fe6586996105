import { useDocumentVisibility } from '@mantine/hooks';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { request, type Schemas } from '../../api/client.ts';
import { followEvents, readEvents } from '../../api/follow-events.ts';
import { sleepOrRestored } from '../../api/server-connection.ts';
import { LogBuffer, type LogLine } from '../../ui/logs/log-buffer.ts';
import type { LogConnection, LogState } from '../../ui/logs/use-log.ts';
import { toLogLines } from './build-lines.ts';

/** More than the server keeps of a build (docs/interface/builds.md), with a heading for each step. */
const MAX_LINES = 60_000;
/** Arrived lines are shown at this interval, as in other logs. */
const SHOW_EVERY_MS = 100;

/**
 * Reads the log of a build from its first line on, and follows it until the build has ended; then calls `onEnd`. A broken stream resumes
 * after the last line received. Remount it for another build.
 */
export function useBuildLog(id: Schemas['Build']['id'], onEnd: () => void): LogState {
  const buffer = useMemo(() => new LogBuffer(MAX_LINES), []);
  const { lines, waiting } = useSyncExternalStore(buffer.subscribe, buffer.snapshot);
  const [connection, setConnection] = useState<LogConnection>('connecting');
  const isVisible = useDocumentVisibility() === 'visible';
  const read = useRef({ lastId: null as string | null, step: null as string | null, isOver: false });
  const ended = useRef(onEnd);
  ended.current = onEnd;

  useEffect(() => {
    const timer = setInterval(() => buffer.flush(), SHOW_EVERY_MS);
    return () => clearInterval(timer);
  }, [buffer]);

  useEffect(() => {
    const position = read.current;
    if (!isVisible || position.isOver) return;
    const controller = new AbortController();
    const { signal } = controller;
    const onEvent = (event: { id?: string | undefined; event?: string | undefined; data: string }) => {
      if (event.event === 'end') {
        position.isOver = true;
        controller.abort();
        setConnection('closed');
        ended.current();
      } else if (event.id !== undefined) {
        const line = JSON.parse(event.data) as Parameters<typeof toLogLines>[0];
        for (const shown of toLogLines(line, position.step)) buffer.add(shown);
        position.step = line.step ?? position.step;
        position.lastId = event.id;
      }
    };
    setConnection('connecting');
    void followEvents({
      connect: (lastId) => connect(id, lastId, signal, () => setConnection('open')),
      lastId: position.lastId,
      onEvent,
      onConnection: (isOpen) => !signal.aborted && setConnection(isOpen ? 'open' : 'connecting'),
      sleep: sleepOrRestored,
      signal,
    });
    return () => controller.abort();
  }, [id, isVisible, buffer]);

  return { lines, waiting, buffer, connection, older: null, keptSince: null, error: null };
}

/** Headers are an answer: a log that is silent is connected all the same. */
async function* connect(id: string, lastId: string | null, signal: AbortSignal, onOpen: () => void) {
  const headers: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId };
  const response = await request(`/v2/builds/${encodeURIComponent(id)}/logs`, { signal, headers });
  onOpen();
  yield* readEvents(response.body!);
}

/** Returns the log as text, as it is shown. */
export function logText(lines: readonly LogLine[]): string {
  return lines.map(({ ts, line }) => `${ts} ${line}\n`).join('');
}
