import { useDocumentVisibility } from '@mantine/hooks';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { request } from '../../api/client.ts';
import { followEvents, readEvents } from '../../api/follow-events.ts';
import { sleepOrRestored } from '../../api/server-connection.ts';
import { LogBuffer, type LogLine } from './log-buffer.ts';
import { type LogPlace, type LogQuery, pagePath, streamPath } from './log-filter.ts';

/** Lines that a log begins with, and that `loadOlder` adds. */
const PAGE = 500;
/** Arrived lines are shown at this interval: faster than one can read, slowly enough to leave the browser idle. */
const SHOW_EVERY_MS = 100;

interface LogPage {
  lines: LogLine[];
  nextCursor: string | null;
  searchedTo: string | null;
  keptSince: string | null;
}

export type LogConnection = 'connecting' | 'open' | 'closed';

export interface LogState {
  lines: readonly LogLine[];
  waiting: number;
  buffer: LogBuffer;
  /** `closed`: a log with an end is not followed. */
  connection: LogConnection;
  /** Older lines, if there may be some; `searchedTo`: how far a search came that has not read all. */
  older: { load: () => void; isLoading: boolean; searchedTo: string | null } | null;
  /** Lines of before have been removed; null: none have, as far as is known. */
  keptSince: string | null;
  error: string | null;
}

interface Older {
  cursor: string;
  searchedTo: string | null;
}

/** Reads a log: its last lines, and new ones as they come unless `query` has an end. */
export function useLog(place: LogPlace, query: LogQuery): LogState {
  const buffer = useMemo(() => new LogBuffer(), []);
  const { lines, waiting } = useSyncExternalStore(buffer.subscribe, buffer.snapshot);
  const [connection, setConnection] = useState<LogConnection>('connecting');
  const [older, setOlder] = useState<Older | null>(null);
  const [keptSince, setKeptSince] = useState<string | null>(null);
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const isVisible = useDocumentVisibility() === 'visible';
  const lastId = useRef<string | null>(null);
  const key = `${place} ${JSON.stringify(query)}`;

  useEffect(() => {
    const timer = setInterval(() => buffer.flush(), SHOW_EVERY_MS);
    return () => clearInterval(timer);
  }, [buffer]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another log starts empty
  useEffect(() => {
    buffer.clear();
    lastId.current = null;
    setOlder(null);
    setKeptSince(null);
    setError(null);
  }, [key]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for place and query
  useEffect(() => {
    if (!isVisible) return;
    const controller = new AbortController();
    const { signal } = controller;
    const addLine = (line: LogLine) => {
      lastId.current = line.id;
      buffer.add(line);
    };
    setConnection(query.until === undefined || lastId.current === null ? 'connecting' : 'closed');
    void readLog({
      place,
      query,
      signal,
      lastId: lastId.current,
      addLine,
      setConnection,
      setOlder,
      setKeptSince,
      setError,
    });
    return () => controller.abort();
  }, [key, isVisible]);

  const load = async () => {
    setLoading(true);
    try {
      const page = await readPage(place, query, older!.cursor);
      buffer.prepend(page.lines.toReversed());
      setOlder(olderOf(page));
      setKeptSince(page.keptSince);
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setLoading(false);
    }
  };
  const oldest = older && { load: () => void load(), isLoading, searchedTo: older.searchedTo };
  return { lines, waiting, buffer, connection, older: oldest, keptSince, error };
}

interface Reading {
  place: LogPlace;
  query: LogQuery;
  signal: AbortSignal;
  lastId: string | null;
  addLine: (line: LogLine) => void;
  setConnection: (connection: LogConnection) => void;
  setOlder: (older: Older | null) => void;
  setKeptSince: (keptSince: string | null) => void;
  setError: (error: string | null) => void;
}

/** Reads the last page, then follows the log from there. A log without a beginning has its last page in the stream. */
async function readLog(reading: Reading): Promise<void> {
  const { place, query, signal, addLine, setConnection, setOlder, setKeptSince, setError } = reading;
  let { lastId } = reading;
  try {
    if (lastId === null) {
      const page = await readPage(place, query, null, signal);
      if (signal.aborted) return;
      for (const line of page.lines.toReversed()) addLine(line);
      setOlder(olderOf(page));
      setKeptSince(page.keptSince);
      lastId = page.lines[0]?.id ?? null;
    }
  } catch (failure) {
    if (signal.aborted) return;
    setError(messageOf(failure));
    setConnection('closed');
    return;
  }
  if (query.until !== undefined) return setConnection('closed');
  await followEvents({
    connect: (id) => connect(reading, id),
    lastId,
    onEvent: ({ id, data }) => id !== undefined && addLine(toLine(id, data)),
    onConnection: (isOpen) => !signal.aborted && setConnection(isOpen ? 'open' : 'connecting'),
    sleep: sleepOrRestored,
    signal,
  });
}

/** Headers are an answer: a log that is silent is connected all the same. */
async function* connect({ place, query, signal, setConnection }: Reading, lastId: string | null) {
  const headers: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId };
  const tail = lastId === null && query.since === undefined ? PAGE : null;
  const response = await request(streamPath(place, query, tail), { signal, headers });
  setConnection('open');
  yield* readEvents(response.body!);
}

function toLine(id: string, data: string): LogLine {
  // The log of a pod has no worker.
  return { id, workerId: null, ...(JSON.parse(data) as Omit<LogLine, 'id' | 'workerId'>) };
}

async function readPage(
  place: LogPlace,
  query: LogQuery,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<LogPage> {
  const response = await request(pagePath(place, query, PAGE, cursor), signal ? { signal } : {});
  return (await response.json()) as LogPage;
}

function olderOf({ nextCursor, searchedTo }: LogPage): Older | null {
  return nextCursor === null ? null : { cursor: nextCursor, searchedTo };
}
