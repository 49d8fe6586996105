import { notFound } from '../../../core/errors.ts';
import type { LogLine, LogsOptions } from '../../runtime.ts';
import { type Engine, isRefusal } from '../engine/engine.ts';
import { LogFrames, LogPlace } from './log-frames.ts';

/** See `Runtime.logs`; `container` is a name. */
export async function* readContainerLogs(
  engine: Engine,
  container: string,
  options: LogsOptions,
): AsyncGenerator<LogLine> {
  const place = new LogPlace(options);
  yield* onePass(engine, container, place, options);
  // The engine ends a follower when the container ends, sometimes before it has sent the last lines.
  if (options.follow && !options.signal.aborted) {
    yield* onePass(engine, container, place, { ...options, follow: false });
  }
}

/** One pass over what the engine has. A container that is being removed has no more lines. */
async function* onePass(
  engine: Engine,
  container: string,
  place: LogPlace,
  { follow, signal }: LogsOptions,
): AsyncGenerator<LogLine> {
  const query = { stdout: 1, stderr: 1, timestamps: 1, follow: follow ? 1 : 0, ...place.beginPass() };
  const frames = new LogFrames();
  try {
    const stream = await engine.stream({ method: 'GET', path: `/containers/${container}/logs`, query, signal });
    for await (const chunk of stream) for (const line of frames.take(chunk as Buffer)) if (place.pass(line)) yield line;
  } catch (error) {
    if (signal.aborted || isRefusal(error, 409)) return;
    if (!isRefusal(error, 404)) throw error;
    if (!place.hasStarted) throw notFound('Workload');
  }
  // While following, the engine may still hold the rest of an open line; the pass after it gets all of it.
  if (!follow) for (const line of frames.end()) if (place.pass(line)) yield line;
}

/** See `Runtime.lastOutput`. */
export async function readLastLines(engine: Engine, container: string, count: number): Promise<string[]> {
  const errors = await readTail(engine, container, { stderr: 1 }, count);
  return errors.length > 0 ? errors : readTail(engine, container, { stdout: 1 }, count);
}

/** A container that is gone has no lines. */
async function readTail(
  engine: Engine,
  container: string,
  streams: { stdout?: 1; stderr?: 1 },
  count: number,
): Promise<string[]> {
  const query = { stdout: 0, stderr: 0, ...streams, timestamps: 1, follow: 0, tail: count };
  const frames = new LogFrames();
  const lines: string[] = [];
  try {
    const stream = await engine.stream({ method: 'GET', path: `/containers/${container}/logs`, query });
    for await (const chunk of stream) for (const { line } of frames.take(chunk as Buffer)) lines.push(line);
  } catch (error) {
    if (isRefusal(error, 404) || isRefusal(error, 409)) return [];
    throw error;
  }
  return [...lines, ...frames.end().map(({ line }) => line)];
}
