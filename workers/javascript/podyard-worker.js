/**
 * A worker kit without dependencies: takes jobs from a queue endpoint, runs your handler, and sends back what it returns.
 *
 *   import { start } from 'podyard/worker'; // or './podyard-worker.mjs', its copy by `podyard kit javascript`
 *   await start({ handler: async (job) => ({ echo: job.input }), concurrency: 2 });
 *
 * The handler is an async function (its value is the output) or an async generator (each value is streamed). It gets
 * `{ id, input, signal, progress(value) }`; `signal` aborts when the job is cancelled. What it throws becomes the error.
 * A job that belongs to a trace also has `traceparent`, and possibly `tracestate` (W3C Trace Context): pass them on.
 * `onSleep` and `onWake` (optional, both or neither): give back the GPU's memory, and take it again. The kit calls them while no
 * job runs, before the worker is frozen and after it is thawed; another worker uses the GPU in between.
 * Without an endpoint, `node worker.js --test_input '{"input": …}'` runs one job and prints its result.
 *
 * The kit speaks the protocol of the public worker SDKs and reads the same variables:
 *   RUNPOD_WEBHOOK_GET_JOB, RUNPOD_WEBHOOK_POST_OUTPUT, RUNPOD_WEBHOOK_POST_STREAM, RUNPOD_WEBHOOK_PING: URLs
 *   RUNPOD_AI_API_KEY: sent as `Authorization`;  RUNPOD_POD_ID: this worker's id;  RUNPOD_PING_INTERVAL: in ms
 *   PODYARD_SLEEP: set where workers can sleep
 * On SIGTERM it takes no more jobs, finishes the running ones and exits with 0.
 *
 * It logs one JSON object a line: `requestId` (the job), `message`, `level`, and `traceback` of an error, also of one that ends
 * the program. What the handler prints goes out as it is.
 */
const VERSION = 'podyard-js/1';
const TAKE_TIMEOUT_MS = 90_000;
const CUT_OFF_AFTER_MS = 2000;
/** How long a result is retried while the server cannot be reached: a restart of the server loses no result. */
const RESULT_DEADLINE_MS = 5 * 60_000;
/** How much earlier than its job a cancellation may arrive: they use different connections. */
const OVERTAKING_MS = 1000;
/** Servers keep this much of a line, in characters; a longer one would be no JSON any more. */
const MAX_LINE = 16_000;
const MAX_MESSAGE = 4_000;
const MAX_CAUSES = 5;
const cancelledEarly = new Set();
const running = new Map(); // job id → its AbortController

const { env } = process;
const workerId = env.RUNPOD_POD_ID || crypto.randomUUID();

/**
 * Runs until SIGTERM or SIGINT; resolves when the last job has ended. Throws a TypeError when an option is invalid. Without
 * an endpoint it runs the job of `--test_input`, and sets the exit code to 1 when that fails.
 */
export async function start({ handler, concurrency = 1, onSleep, onWake }) {
  if (typeof handler !== 'function') throw new TypeError('`handler` must be a function');
  if (!(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new TypeError('`concurrency` must be a positive integer');
  }
  if ((onSleep === undefined) !== (onWake === undefined)) throw new TypeError('`onSleep` and `onWake` belong together');
  if (!env.RUNPOD_WEBHOOK_GET_JOB) return runByHand(handler);
  const sleeper = {
    onSleep,
    onWake,
    isAsleep: false,
    canSleep: env.PODYARD_SLEEP !== undefined && onSleep !== undefined,
  };
  const draining = new AbortController();
  const ended = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => draining.abort());

  const work = takeLoop({ handler, concurrency, sleeper }, draining.signal); // before anything else: a job may wait
  log('INFO', `worker ${workerId} started, concurrency ${concurrency}`);
  const side = [pingLoop(ended.signal), stopLoop(ended.signal)];
  await work;
  log('INFO', 'worker stopped');
  ended.abort(); // pings and cancellations continue until the last job has ended
  await Promise.all(side);
}

async function runByHand(handler) {
  const at = process.argv.indexOf('--test_input');
  if (at < 0) {
    console.error(
      'RUNPOD_WEBHOOK_GET_JOB is not set: workers are started by an endpoint. To test the handler, add ' +
        `--test_input '{"input": …}'.`,
    );
    process.exit(1);
  }
  const print = (value) => console.log(JSON.stringify(value));
  const progress = async (value) => print({ progress: value });
  const job = {
    id: 'test',
    ...JSON.parse(process.argv[at + 1] ?? '{}'),
    signal: new AbortController().signal,
    progress,
  };
  const { body, isStream } = await callHandler(handler, job, async (chunk) => print({ stream: chunk }));
  if (!isStream || body.error !== undefined) print(body);
  if (body.error !== undefined) process.exitCode = 1;
}

async function takeLoop({ handler, concurrency, sleeper }, draining) {
  const work = new Set();
  let wake = () => {};
  draining.addEventListener('abort', () => wake());
  while (!draining.aborted) {
    const free = concurrency - work.size;
    if (free <= 0) {
      await new Promise((resolve) => {
        wake = resolve;
      });
      continue;
    }
    for (const job of await take(free, running.size > 0, sleeper, draining)) {
      const task = runJob(handler, job).finally(() => {
        work.delete(task);
        wake();
      });
      work.add(task);
    }
  }
  await Promise.all(work);
}

async function take(free, isBusy, sleeper, draining) {
  let url = env.RUNPOD_WEBHOOK_GET_JOB.replaceAll('$ID', workerId);
  if (free > 1) url = `${url.replace('/job-take/', '/job-take-batch/')}&batch_size=${free}`;
  url += `&job_in_progress=${isBusy ? 1 : 0}`;
  if (sleeper.onSleep) url += `&can_sleep=${sleeper.canSleep ? 1 : 0}${sleeper.isAsleep ? '&asleep=1' : ''}`;
  const askedAt = performance.now();
  try {
    const timeout = AbortSignal.timeout(TAKE_TIMEOUT_MS);
    const answer = await send('GET', url, { signal: timeout, hangUp: draining, headers: headers() });
    if (answer.status === 200) return [JSON.parse(answer.body)].flat();
    if ('podyard-sleep' in answer.headers && !isBusy && !sleeper.isAsleep) await goToSleep(sleeper);
    if ('podyard-wake' in answer.headers && sleeper.isAsleep) await wakeUp(sleeper);
    if (answer.status !== 204 && answer.status !== 400) await pause(answer.status === 429 ? 5000 : 1000, draining);
  } catch {
    // A server that is down fails at once. A request that fails late was cut off, by a restart or because this worker was
    // frozen: a job may already be waiting.
    if (performance.now() - askedAt < CUT_OFF_AFTER_MS) await pause(500, draining);
  }
  return [];
}

async function goToSleep(sleeper) {
  try {
    await sleeper.onSleep();
    sleeper.isAsleep = true;
  } catch (error) {
    sleeper.canSleep = false;
    logError(error, { before: 'onSleep failed, so this worker keeps its GPU: ' });
  }
}

/** A worker that cannot wake ends, and is replaced. */
async function wakeUp(sleeper) {
  try {
    await sleeper.onWake();
    sleeper.isAsleep = false;
  } catch (error) {
    logError(error, { before: 'onWake failed: ' });
    process.exit(1);
  }
}

async function runJob(handler, job) {
  if (cancelledEarly.delete(job.id)) return;
  const controller = new AbortController();
  running.set(job.id, controller);
  let lastPost = Promise.resolve(); // progress arrives in order, and before the result
  const progress = (value) => {
    lastPost = lastPost.then(() => post('OUTPUT', job.id, { status: 'IN_PROGRESS', output: value }, false));
    return lastPost;
  };
  try {
    const { body, isStream } = await callHandler(handler, { ...job, signal: controller.signal, progress }, (chunk) =>
      post('STREAM', job.id, { output: chunk }, false),
    );
    await lastPost;
    if (!controller.signal.aborted) await post('OUTPUT', job.id, body, isStream); // a cancelled job has no result
  } finally {
    running.delete(job.id);
  }
}

async function callHandler(handler, job, sendChunk) {
  let isStream = false;
  try {
    const result = handler(job);
    isStream = result?.[Symbol.asyncIterator] !== undefined;
    if (!isStream) return { body: resultBody(await result), isStream };
    for await (const chunk of result) {
      if (job.signal.aborted) break;
      if (chunk?.error !== undefined) return { body: { error: text(chunk.error) }, isStream };
      await sendChunk(chunk);
    }
    return { body: { output: [] }, isStream };
  } catch (error) {
    logError(error, { jobId: job.id });
    return { body: { error: errorText(error) }, isStream };
  }
}

/** Takes `error` and `refresh_worker` out of what a handler returns; the rest is the output. */
function resultBody(result) {
  if (result === null || typeof result !== 'object' || Array.isArray(result)) return { output: result ?? null };
  const { error, refresh_worker: isRefresh, ...output } = result;
  const body = {};
  if (error === undefined) body.output = output;
  else body.error = text(error);
  if (isRefresh) body.stopPod = true;
  return body;
}

function errorText(error) {
  return JSON.stringify({
    error_type: error?.name ?? 'Error',
    error_message: error?.message ?? String(error),
    error_traceback: error?.stack ?? '',
    hostname: env.RUNPOD_POD_HOSTNAME ?? 'unknown',
    worker_id: workerId,
    runpod_version: VERSION,
  });
}

/** Sends a result or a chunk. Retries while the server is down or answers 5xx; any other answer is final. */
async function post(kind, jobId, body, isStream) {
  const url = env[`RUNPOD_WEBHOOK_POST_${kind}`].replaceAll('$RUNPOD_POD_ID', workerId).replaceAll('$ID', jobId);
  const deadline = performance.now() + RESULT_DEADLINE_MS;
  for (let waitMs = 200; ; waitMs = Math.min(waitMs * 2, 5000)) {
    const status = await postOnce(`${url}&isStream=${isStream}`, jobId, body);
    if (status !== undefined && status >= 400 && status < 500)
      log('ERROR', `refused by the server (${status}); not sent again`, jobId);
    if (status !== undefined && status < 500) return;
    if (performance.now() + waitMs > deadline)
      return log('ERROR', `gave up sending to the server (${status ?? 'no answer'})`, jobId);
    await pause(waitMs);
  }
}

async function postOnce(url, jobId, body) {
  try {
    const kind = {
      'content-type': 'application/x-www-form-urlencoded', // JSON nevertheless: the SDKs send it like this
      charset: 'utf-8',
      'x-request-id': jobId,
    };
    const sent = { headers: { ...headers(), ...kind }, body: JSON.stringify(body) };
    const answer = await send('POST', url, { signal: AbortSignal.timeout(30_000), ...sent });
    return answer.status;
  } catch {
    return undefined;
  }
}

async function pingLoop(ended) {
  if (!env.RUNPOD_WEBHOOK_PING || !env.RUNPOD_AI_API_KEY || !env.RUNPOD_POD_ID) return;
  const intervalMs = Number(env.RUNPOD_PING_INTERVAL || 10_000);
  const base = env.RUNPOD_WEBHOOK_PING.replaceAll('$RUNPOD_POD_ID', workerId).replaceAll('$ID', workerId);
  while (!ended.aborted) {
    const jobs = running.size > 0 ? `&job_id=${[...running.keys()].join(',')}` : '';
    try {
      await get(`${base}${jobs}&runpod_version=${VERSION}`, 2 * intervalMs, ended);
    } catch {
      // the next ping says the same
    }
    await pause(intervalMs, ended);
  }
}

async function stopLoop(ended) {
  const url = env.RUNPOD_WEBHOOK_GET_JOB.replaceAll('$ID', workerId).replace('/job-take/', '/job-stop/');
  while (!ended.aborted) {
    let waitMs = 1000;
    try {
      const answer = await get(url, TAKE_TIMEOUT_MS, ended);
      if (answer.status === 200) {
        for (const id of JSON.parse(answer.body).jobsToStop ?? []) cancel(id);
        waitMs = 0;
      } else if (answer.status === 429) waitMs = 5000;
    } catch {
      // retried after the pause
    }
    await pause(waitMs, ended);
  }
}

function cancel(jobId) {
  const controller = running.get(jobId);
  if (!controller) {
    cancelledEarly.add(jobId);
    setTimeout(() => cancelledEarly.delete(jobId), OVERTAKING_MS).unref();
    return;
  }
  if (controller.signal.aborted) return; // the order is repeated until the handler has ended
  log('INFO', 'cancelled', jobId);
  controller.abort();
}

function get(url, timeoutMs, signal) {
  return send('GET', url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]), headers: headers() });
}

const transports = {}; // by module: its `request`, and an agent that keeps connections

function openTransport({ Agent, request }) {
  return { request, agent: new Agent({ keepAlive: true }) };
}

/**
 * Resolves with the answer and all of its body. `node:http` is not imported: that would also load what it only mentions,
 * WebSocket and `fetch`, which takes as long as all else before the first job.
 *
 * `signal` cuts the connection off. `hangUp` ends this side alone, for 2 s at most: an answer that has been sent still arrives, and the
 * server closes a request that it has not answered.
 */
async function send(method, url, { signal, hangUp, headers: given, body }) {
  const name = url.startsWith('https:') ? 'node:https' : 'node:http';
  transports[name] ??= openTransport(process.getBuiltinModule?.(name) ?? (await import(name))); // an older Node.js
  const { request, agent } = transports[name];
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  let end = () => {};
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, signal, headers: { ...given, ...length } }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: answer.statusCode, headers: answer.headers, body: text });
      });
    });
    sent.on('error', reject);
    sent.end(body);
    if (hangUp) end = onAbort(hangUp, () => endOwnSide(sent));
  }).finally(end);
}

function endOwnSide(sent) {
  if (!sent.socket || sent.socket.connecting) return sent.destroy();
  sent.socket.end();
  const timer = setTimeout(() => sent.destroy(), CUT_OFF_AFTER_MS);
  sent.once('close', () => clearTimeout(timer));
}

/** Calls `listener` when `signal` aborts, at once if it has. Returns what takes that back. */
function onAbort(signal, listener) {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener);
  return () => signal.removeEventListener('abort', listener);
}

function headers() {
  return { authorization: env.RUNPOD_AI_API_KEY ?? '', 'user-agent': VERSION };
}

function text(value) {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value); // it refers to itself
  }
}

function log(level, message, jobId = null, traceback = '') {
  if (!env.RUNPOD_ENDPOINT_ID) {
    const said = traceback.startsWith(message) ? traceback : `${message}\n${traceback}`.trimEnd();
    return console.log(`${level.padEnd(5)} ${jobId ?? ''} ${said}`);
  }
  const record = { requestId: jobId, message: bounded(message, MAX_MESSAGE), level };
  if (traceback !== '') record.traceback = bounded(traceback, MAX_LINE - JSON.stringify(record).length - 20);
  process.stdout.write(`${JSON.stringify(record)}\n`); // in one piece, whatever has become of console.log
}

function logError(error, { jobId = null, before = '' } = {}) {
  const isError = typeof error?.stack === 'string';
  const message = isError ? error.stack.split('\n    at ', 1)[0] : text(error);
  log('ERROR', before + message, jobId, isError ? stackOf(error) : '');
}

/** Returns an error's stack with those of its causes. */
function stackOf(error) {
  const stacks = [];
  for (let one = error; one !== undefined && one !== null && stacks.length < MAX_CAUSES; one = one.cause) {
    stacks.push(typeof one.stack === 'string' ? one.stack : text(one));
  }
  return stacks.join('\nCaused by: ');
}

/** Returns a text, or its beginning and its end, so that it takes at most `room` characters of JSON. */
function bounded(whole, room) {
  for (let half = Math.floor(room / 2); ; half = Math.floor((half * 2) / 3)) {
    const left = whole.length - 2 * half;
    const cut =
      left <= 0 ? whole : `${whole.slice(0, half)} … ${left} characters … ${whole.slice(whole.length - half)}`;
    if (JSON.stringify(cut).length <= room) return cut;
  }
}

/** Logs an error that nothing caught in one line. The program ends as it would without the kit, or does what its own listener does. */
function onUncaught(error) {
  if (process.listenerCount('uncaughtException') > 1) return;
  if (isUnplaced(error)) {
    process.off('uncaughtException', onUncaught);
    setImmediate(() => {
      throw error;
    });
    return;
  }
  logError(error, { jobId: running.size === 1 ? [...running.keys()][0] : null });
  process.exit(1);
}

/** True for a module that cannot be parsed: its line is not in the stack, but Node.js prints it. */
function isUnplaced(error) {
  if (!(error instanceof SyntaxError) || typeof error.stack !== 'string') return false;
  const [head, ...frames] = error.stack.split('\n    at ');
  return head.startsWith('SyntaxError') && frames.every((frame) => frame.includes('node:'));
}

// From here on: a worker whose model or package is missing never comes as far as `start`.
if (env.RUNPOD_ENDPOINT_ID) process.on('uncaughtException', onUncaught);

/** Resolves after `ms`, or at once when `signal` aborts. */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal?.aborted) done();
    else signal?.addEventListener('abort', done);
  });
}
