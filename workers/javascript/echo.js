/**
 * The worker of the demo and the tests: it does what the job's input says.
 *
 *   echo: any        the output (default: the input itself)
 *   delayMs: n       waits first, until a cancellation
 *   logLines: n      prints `line 1` … `line n`
 *   progress: [..]   sends each item as a progress update
 *   stream: n        streams n chunks `{ index, echo }`, `delayMs` apart
 *   bytes: n         returns `{ data }` with n characters
 *   trace: true      returns `{ traceparent }`, the job's trace context, or null
 *   env: NAME        returns `{ env }`, the value of that variable, or null
 *   refresh: true    requests a fresh worker after this job
 *   throw: text      fails with that message
 *   exit: code       exits at once with that code
 *   crash: true      aborts the process
 *   hang: true       never ends and ignores cancellation
 *   slept: true      returns `{ slept, woke }`: how often
 *
 * The environment variable ECHO_CONCURRENCY sets how many jobs run at once (default 1). ECHO_SLEEP=works lets the worker sleep;
 * with ECHO_SLEEP=sleepless falling asleep fails, with ECHO_SLEEP=forever waking up does.
 */
import { start } from './podyard-worker.js';

let slept = 0;
let woke = 0;

function handler(job) {
  const input = job.input ?? {};
  for (let i = 1; i <= (input.logLines ?? 0); i++) console.log(`line ${i}`);
  return input.stream === undefined ? answer(job, input) : chunks(job, input);
}

async function answer(job, input) {
  for (const item of input.progress ?? []) await job.progress(item);
  await wait(input.delayMs, job.signal);
  misbehave(input);
  if (input.hang) await new Promise((resolve) => setInterval(() => resolve, 3_600_000));
  if (input.slept) return { slept, woke };
  if (input.trace) return { traceparent: job.traceparent ?? null };
  return input.refresh ? { echo: input.echo ?? null, refresh_worker: true } : outputOf(input);
}

async function* chunks(job, input) {
  for (let index = 0; index < input.stream; index++) {
    await wait(input.delayMs, job.signal);
    yield { index, echo: input.echo ?? null };
  }
  misbehave(input);
}

function outputOf(input) {
  if (input.bytes !== undefined) return { data: 'x'.repeat(input.bytes) };
  if (input.env !== undefined) return { env: process.env[input.env] ?? null };
  return input.echo === undefined ? input : input.echo;
}

function misbehave(input) {
  if (input.throw !== undefined) throw new Error(String(input.throw));
  if (input.exit !== undefined) process.exit(input.exit);
  if (input.crash) process.abort();
}

function wait(ms = 0, signal) {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function onSleep() {
  if (process.env.ECHO_SLEEP === 'sleepless') throw new Error('it cannot sleep');
  slept += 1;
}

function onWake() {
  if (process.env.ECHO_SLEEP === 'forever') throw new Error('it cannot wake');
  woke += 1;
}

const sleeper = process.env.ECHO_SLEEP === undefined ? {} : { onSleep, onWake };
await start({ handler, concurrency: Number(process.env.ECHO_CONCURRENCY ?? 1), ...sleeper });
process.exit(0); // a hanging handler must not keep a drained worker alive
