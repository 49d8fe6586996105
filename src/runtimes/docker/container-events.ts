import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { OnEvent } from '../runtime.ts';
import { LABELS } from './container-config.ts';
import type { Engine } from './engine.ts';

/** The engine tells of an end a moment before its list shows it, so each event is told again after this time. */
const EVENT_LAG_MS = 100;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/** Tells of every event of the installation's containers until `ended`, connecting again when the engine goes away. */
export async function watchContainers(
  engine: Engine,
  installation: string,
  onEvent: OnEvent,
  ended: AbortSignal,
  logger: Logger,
): Promise<void> {
  const filters = JSON.stringify({ type: ['container'], label: [`${LABELS.installation}=${installation}`] });
  for (let pauseMs = FIRST_PAUSE_MS; !ended.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      const stream = await engine.stream({ method: 'GET', path: '/events', query: { filters }, signal: ended });
      pauseMs = FIRST_PAUSE_MS;
      for await (const id of workloadsOf(stream)) {
        onEvent(id);
        setTimeout(onEvent, EVENT_LAG_MS, id).unref();
      }
    } catch (error) {
      if (ended.aborted) return;
      logger.warn({ err: error }, `the events of the container engine ended: ${messageOf(error)}`);
    }
    await sleep(pauseMs, undefined, { signal: ended, ref: false }).catch(() => {});
  }
}

/** The ids of workloads in a stream of events, which come as JSON texts, one a line. */
async function* workloadsOf(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.trim() === '') continue;
      const id = (JSON.parse(line) as { Actor?: { Attributes?: Record<string, string> } }).Actor?.Attributes?.[
        LABELS.id
      ];
      if (id !== undefined) yield id;
    }
  }
}
