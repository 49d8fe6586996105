/** Reads BuildKit's messages about a build (`moby.buildkit.trace`): steps, called vertexes there, and what they print. */
import type { BuildSteps } from './build-steps.ts';
import { readFields, readText } from './protobuf.ts';

/** The numbers of the fields that are read, by message. */
const STATUS = { vertexes: 1, logs: 3 };
const VERTEX = { digest: 1, name: 3, isCached: 4, started: 5, completed: 6, error: 7 };
const LOG = { vertex: 1, at: 2, stream: 3, text: 4 };
const TIMESTAMP = { seconds: 1, nanos: 2 };

const STDERR = 2;

/** The steps of the Dockerfile, as in `[build 2/5] RUN make`. What BuildKit does besides is shown only if it fails. */
const OF_DOCKERFILE = /^\[(?:\S+ )?\d+\/\d+\] /;

/** Takes one message, in base64. Throws RangeError on a malformed one. */
export function readTrace(message: string, steps: BuildSteps): void {
  for (const [field, value] of readFields(Buffer.from(message, 'base64'))) {
    if (typeof value === 'number') continue;
    if (field === STATUS.vertexes) readVertex(value, steps);
    if (field === STATUS.logs) readLog(value, steps);
  }
}

function readVertex(vertex: Buffer, steps: BuildSteps): void {
  let isCached = false;
  let started: Date | undefined;
  let completed: Date | undefined;
  for (const [field, value] of readFields(vertex)) {
    if (typeof value === 'number') isCached ||= field === VERTEX.isCached && value === 1;
    else if (field === VERTEX.started) started = readTimestamp(value);
    else if (field === VERTEX.completed) completed = readTimestamp(value);
  }
  const [digest, name, error] = [VERTEX.digest, VERTEX.name, VERTEX.error].map((field) => readText(vertex, field));
  const isShown = OF_DOCKERFILE.test(name!) || error !== '';
  if (!isShown || (started === undefined && completed === undefined)) return;
  const shown = name!.replace(/^\[internal\] /, '');
  const end = error !== '' ? 'FAILED' : isCached ? 'CACHED' : 'COMPLETED';
  if (completed === undefined) steps.report(digest!, shown, 'RUNNING', started!);
  else steps.report(digest!, shown, end, completed, !/context cancell?ed/.test(error!));
}

function readLog(log: Buffer, steps: BuildSteps): void {
  let at = new Date();
  let stream: 'stdout' | 'stderr' = 'stdout';
  let text = Buffer.alloc(0);
  for (const [field, value] of readFields(log)) {
    if (typeof value === 'number') stream = field === LOG.stream && value === STDERR ? 'stderr' : stream;
    else if (field === LOG.at) at = readTimestamp(value);
    else if (field === LOG.text) text = Buffer.from(value);
  }
  steps.print(readText(log, LOG.vertex), stream, text, at);
}

function readTimestamp(timestamp: Buffer): Date {
  let ms = 0;
  for (const [field, value] of readFields(timestamp)) {
    if (typeof value !== 'number') continue;
    if (field === TIMESTAMP.seconds) ms += value * 1000;
    if (field === TIMESTAMP.nanos) ms += value / 1e6;
  }
  return new Date(ms);
}
