import { followEvents } from '../../../api/follow-events.ts';

/** The stream of a job so far. */
export interface Streamed {
  /** JSON texts, in order. */
  chunks: readonly string[];
  /** True if more came than is kept. */
  isCut: boolean;
}

export const NOTHING: Streamed = { chunks: [], isCut: false };
/** More are not kept: the page would become slow. */
const MAX_CHUNKS = 5_000;
const MAX_CHARACTERS = 1_000_000;
/** Chunks of a fast worker are shown together. */
const SHOW_EVERY_MS = 50;

interface Event {
  id?: string | undefined;
  event?: string | undefined;
  data: string;
}

interface FollowChunks {
  connect: (lastId: string | null, signal: AbortSignal) => AsyncIterable<Event>;
  onChange: (streamed: Streamed) => void;
  /** The job ended: its JSON. */
  onDone: (job: string) => void;
  sleep: (ms: number) => Promise<unknown>;
  signal: AbortSignal;
}

/** Follows a job's stream to its end, over breaks of the connection, and reports what came a few times a second. */
export async function followChunks({ connect, onChange, onDone, sleep, signal }: FollowChunks): Promise<void> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const chunks: string[] = [];
  let characters = 0;
  let isCut = false;
  let isScheduled = false;
  const show = () => {
    isScheduled = false;
    if (!signal.aborted) onChange({ chunks: [...chunks], isCut });
  };
  await followEvents({
    connect: (lastId) => connect(lastId, both),
    lastId: null,
    onConnection: () => {},
    sleep,
    signal: both,
    onEvent: (given) => {
      const { event, data } = given as Event;
      if (event === 'done') {
        show();
        over.abort();
        onDone(data);
        return;
      }
      isCut ||= chunks.length >= MAX_CHUNKS || characters + data.length > MAX_CHARACTERS;
      if (!isCut) {
        chunks.push(data);
        characters += data.length;
      }
      if (isScheduled) return;
      isScheduled = true;
      void sleep(SHOW_EVERY_MS).then(() => isScheduled && show());
    },
  });
}

/** Returns the text of a stream: strings joined as a reader expects, other values one a line. */
export function textOf(chunks: readonly string[]): string {
  const values = chunks.map((chunk) => ({ chunk, value: parse(chunk) }));
  if (values.every(({ value }) => typeof value === 'string'))
    return values.map(({ value }) => value as string).join('');
  return chunks.join('\n');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
