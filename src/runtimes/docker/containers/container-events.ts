import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../core/logger.ts';
import { SeldomLog } from '../../../core/seldom-log.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { OnEvent } from '../../runtime.ts';
import { LABELS } from './container-config.ts';

/** The engine emits an event slightly before its list reflects it, so each event is repeated after this time. */
const EVENT_LAG_MS = 100;
/**
 * Events the caller of `start` knows about, and health checks inside containers. Listing containers because of them would
 * compete with the start in progress.
 */
const IGNORED = /^(create|start|attach|exec_)/;
const FIRST_PAUSE_MS = 100;
/** Short: once the engine is back, everything that failed meanwhile is tried again. */
const LONGEST_PAUSE_MS = 1_000;

interface Watch {
  installation: string;
  onEvent: OnEvent;
  /** Called when the engine answers again after it was away. */
  onReturn: () => void;
  ended: AbortSignal;
  logger: Logger;
}

/** Reports events of the installation's containers until `ended` aborts. Reconnects when the engine goes away. */
export async function watchContainers(
  engine: Pick<Engine, 'stream'>,
  { installation, onEvent, onReturn, ended, logger }: Watch,
): Promise<void> {
  const seldom = new SeldomLog(logger);
  const filters = JSON.stringify({ type: ['container'], label: [`${LABELS.installation}=${installation}`] });
  let isAway = false;
  for (let pauseMs = FIRST_PAUSE_MS; !ended.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      const stream = await engine.stream({ method: 'GET', path: '/events', query: { filters }, signal: ended });
      pauseMs = FIRST_PAUSE_MS;
      if (isAway) onReturn();
      isAway = false;
      for await (const id of workloadsOf(stream)) {
        onEvent(id);
        setTimeout(onEvent, EVENT_LAG_MS, id).unref();
      }
    } catch (error) {
      if (ended.aborted) break;
      seldom.warn({ err: error }, 'container engine event stream ended');
    }
    isAway = true;
    await sleep(pauseMs, undefined, { signal: ended, ref: false }).catch(() => {});
  }
  seldom.close();
}

/** The members used of an item of `GET /events`. */
interface EngineEvent {
  Action?: string;
  Actor?: { Attributes?: Record<string, string> };
}

/** Yields the workload ids in a stream of events, one JSON text per line. */
async function* workloadsOf(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.trim() === '') continue;
      const { Action = '', Actor } = JSON.parse(line) as EngineEvent;
      const id = Actor?.Attributes?.[LABELS.id];
      if (id !== undefined && !IGNORED.test(Action)) yield id;
    }
  }
}
