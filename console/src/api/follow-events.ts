import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 10_000;

interface StreamedEvent {
  id?: string | undefined;
  /** Its name, if it has one. */
  event?: string | undefined;
  data: string;
}

interface FollowOptions {
  /** Connects and yields events; `lastId` is the id to resume after. */
  connect: (lastId: string | null) => AsyncIterable<StreamedEvent>;
  /** The id to resume after on the first connection. */
  lastId: string | null;
  onEvent: (event: StreamedEvent) => void;
  onConnection: (isOpen: boolean) => void;
  sleep: (ms: number) => Promise<unknown>;
  signal: AbortSignal;
}

/**
 * Follows an event stream until `signal` aborts. After a break it reconnects with exponential backoff and resumes after
 * the last id. A connection counts as open from its first event on.
 */
export async function followEvents(options: FollowOptions): Promise<void> {
  const { connect, onEvent, onConnection, sleep, signal } = options;
  let { lastId } = options;
  let backoffMs = FIRST_BACKOFF_MS;
  while (!signal.aborted) {
    try {
      for await (const event of connect(lastId)) {
        onConnection(true);
        backoffMs = FIRST_BACKOFF_MS;
        lastId = event.id ?? lastId;
        onEvent(event);
      }
    } catch {
      // A broken stream is retried like one that ended.
    }
    if (signal.aborted) return;
    onConnection(false);
    await sleep(backoffMs);
    backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
  }
}

/** Yields the server-sent events of a response body until it ends. */
export async function* readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<EventSourceMessage> {
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}
