/**
 * The entry point of a data process: one of several that serve the same ports, started by compose/process/data-processes.ts. Its
 * configuration arrives over the IPC channel, so nothing of it is visible in a command line. When the channel closes, the
 * first process is gone: this one releases the ports at once, answers held requests and exits.
 */
import type { ToChild, ToFirst } from './compose/process/process-messages.ts';
import { Failure, messageOf } from './core/errors.ts';
import type { Logger } from './core/logger.ts';
import { takeDelta } from './core/metrics.ts';
import type { RunningServer } from './server.ts';

/** A process that is killed loses the counts since its last report. */
const REPORT_INTERVAL_MS = 1_000;
const PAGE_TIMEOUT_MS = 5_000;

const pageRequests = new Map<number, (text: string | null) => void>();
let lastRequestId = 0;
let server: RunningServer | undefined;
let isStopping = false;

process.on('message', (message: ToChild) => {
  if (message.kind === 'start') void start(message);
  else if (message.kind === 'stop') void stop();
  else if (message.kind === 'collect') void reportCounts(message.id);
  else pageRequests.get(message.id)?.(message.text);
});
process.on('disconnect', () => void stop(true));
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (isStopping && signal === 'SIGTERM') process.exit(1);
    void stop();
  });
}

async function start({ name, config }: Extract<ToChild, { kind: 'start' }>): Promise<void> {
  try {
    const [{ startServer }, { createLogger }, { surviveShortage }] = await Promise.all([
      import('./server.ts'),
      import('./compose/create-logger.ts'),
      import('./compose/process/survive-shortage.ts'),
    ]);
    const logger: Logger = await createLogger(config, name);
    surviveShortage(logger);
    server = await startServer(config, logger, () => {}, { readPage });
    if (isStopping) return await end();
    setInterval(() => void reportCounts(null), REPORT_INTERVAL_MS).unref();
    await send({ kind: 'ready', processId: server.processId });
  } catch (error) {
    await send({ kind: 'failed', reason: messageOf(error) });
    process.exitCode = 1;
    if (process.connected) process.disconnect();
  }
}

/** A stop during the start takes effect after it. `isOrphan`: the first process is gone, and its successor needs the ports. */
async function stop(isOrphan = false): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  if (server) await end(isOrphan);
}

async function end(isOrphan = false): Promise<void> {
  await server!.stop({ isHasty: isOrphan }).catch(() => {
    process.exitCode = 1;
  });
  await reportCounts(null);
  if (process.connected) process.disconnect();
  process.exit();
}

async function reportCounts(id: number | null): Promise<void> {
  if (!server || !process.connected) return;
  const figures = await server.readFigures();
  await send({ kind: 'counted', id, delta: takeDelta(server.metrics), figures });
}

/** Asks the first process for `/metrics` of all. */
function readPage(): Promise<string> {
  const id = ++lastRequestId;
  return new Promise<string>((resolve, reject) => {
    const fail = () => reject(new Failure('unavailable', 'The first process does not answer; try again.'));
    const timer = setTimeout(fail, PAGE_TIMEOUT_MS);
    pageRequests.set(id, (text) => {
      clearTimeout(timer);
      if (text === null) fail();
      else resolve(text);
    });
    void send({ kind: 'scrape', id });
  }).finally(() => pageRequests.delete(id));
}

/** Resolves when the message was sent, or the channel is closed. */
function send(message: ToFirst): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(message, undefined, undefined, () => resolve());
    else resolve();
  });
}
