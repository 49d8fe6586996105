import { inOneLine } from '../../domain/logs/quote-output.ts';
import type { CliOutput } from '../cli-pieces.ts';
import type { ApiClient } from './api-client.ts';
import type { Terminal } from './terminal.ts';

export interface LogOptions {
  follow?: boolean;
  tail: number;
  source?: string;
}

interface LogLine {
  source: 'container' | 'system';
  line: string;
  ts: string;
}

/** Without `--follow`, the log counts as complete after this long without a line. */
const QUIET_MS = 500;
const [DIM, PLAIN] = ['\u001b[2m', '\u001b[0m'];

/** Prints a log stream. */
export async function showLog(client: ApiClient, path: string, options: LogOptions, terminal: Terminal): Promise<void> {
  const source = options.source ? `&source=${options.source}` : '';
  const end = new AbortController();
  const opened = Promise.withResolvers<void>();
  const events = client.events(`${path}?tail=${options.tail}${source}`, end.signal, opened.resolve);
  try {
    for (;;) {
      const next = events.next();
      const event = options.follow ? await next : await Promise.race([next, opened.promise.then(quiet)]);
      if (event === undefined || event.done) return;
      const { source: from, line, ts } = JSON.parse(event.value) as LogLine;
      const text = from === 'system' && terminal.isInteractive ? `${DIM}${line}${PLAIN}` : line;
      terminal.write(`${ts} ${text}\n`);
    }
  } finally {
    end.abort();
  }
}

function quiet(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), QUIET_MS));
}

interface Workers {
  workers: { id: string; startedAt: string | null }[];
  ended?: { id: string; endedAt: string; reason: string | null }[];
}

/**
 * Returns the worker whose log to show: the newest with a container, else the last that ended, which is then noted with its
 * reason; else one that waits.
 */
export async function findLoggedWorker(client: ApiClient, path: string, output: CliOutput): Promise<string> {
  const { workers, ended = [] } = await client.call<Workers>('GET', `${path}?include=ENDED`);
  const running = workers.findLast(({ startedAt }) => startedAt !== null);
  if (running) return running.id;
  const [last] = ended;
  if (last) {
    output.note(
      `No worker is running. Worker ${last.id} ended at ${last.endedAt}: ${inOneLine(last.reason ?? 'no reason known')}`,
    );
    return last.id;
  }
  const waiting = workers.at(-1);
  if (!waiting) throw new Error('no worker is running, and none has ended within 24 hours');
  return waiting.id;
}
