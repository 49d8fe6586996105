import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { OnEvent } from '../runtime.ts';
import { LABELS } from './container-config.ts';
import type { Engine } from './engine.ts';

/** The engine tells of an end a moment before its list shows it, so each event is told again after this time. */
const EVENT_LAG_MS = 100;
/**
 * What the caller of `start` knows already, and checks inside a container: whoever looked at the engine's list because of
 * them would keep it from the start that is under way.
 */
const NO_NEWS = /^(create|start|attach|exec_)/;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/** Tells of the events of the installation's containers that are news until `ended`, connecting again when the engine goes away. */
export async function watchContainers(
  engine: Pick<Engine, 'stream'>,
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

/** The members used of an item of `GET /events`. */
interface EngineEvent {
  Action?: string;
  Actor?: { Attributes?: Record<string, string> };
}

/** The ids of workloads in a stream of events, which come as JSON texts, one a line. */
async function* workloadsOf(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.trim() === '') continue;
      const { Action = '', Actor } = JSON.parse(line) as EngineEvent;
      const id = Actor?.Attributes?.[LABELS.id];
      if (id !== undefined && !NO_NEWS.test(Action)) yield id;
    }
  }
}
