/**
 * One of several processes that serve the same ports (data-processes.ts starts it). Its configuration comes from the
 * first process, by their channel: nothing of it stands in a command line. When the channel ends, the first process is
 * gone: this one lets go of the ports at once, answers what it holds, and ends.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ToChild, ToFirst } from './compose/process-messages.ts';
import { Failure, messageOf } from './core/errors.ts';
import type { Logger } from './core/logger.ts';
import { takeDelta } from './core/metrics-delta.ts';
import type { RunningServer } from './server.ts';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/podyard', import.meta.url)));

/** What was counted is lost with a process that is killed: so much of it. */
const COUNTED_EVERY_MS = 1_000;
const PAGE_MS = 5_000;

const pages = new Map<number, (text: string | null) => void>();
let question = 0;
let server: RunningServer | undefined;
let isStopping = false;

process.on('message', (message: ToChild) => {
  if (message.kind === 'start') void start(message);
  else if (message.kind === 'stop') void stop();
  else if (message.kind === 'collect') void tellCounted(message.id);
  else pages.get(message.id)?.(message.text);
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
    const [{ startServer }, { createLogger }] = await Promise.all([
      import('./server.ts'),
      import('./compose/create-logger.ts'),
    ]);
    const logger: Logger = await createLogger(config, name);
    server = await startServer(config, logger, () => {}, { readPage });
    if (isStopping) return await end();
    setInterval(() => void tellCounted(null), COUNTED_EVERY_MS).unref();
    await tell({ kind: 'ready', processId: server.processId });
  } catch (error) {
    await tell({ kind: 'failed', reason: messageOf(error) });
    process.exitCode = 1;
    if (process.connected) process.disconnect();
  }
}

/** What comes while it starts is done when it has started. `isOrphan`: somebody else may want the ports. */
async function stop(isOrphan = false): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  if (server) await end(isOrphan);
}

async function end(isOrphan = false): Promise<void> {
  await server!.stop({ isHasty: isOrphan }).catch(() => {
    process.exitCode = 1;
  });
  await tellCounted(null);
  if (process.connected) process.disconnect();
  process.exit();
}

async function tellCounted(id: number | null): Promise<void> {
  if (!server || !process.connected) return;
  const figures = await server.readFigures();
  await tell({ kind: 'counted', id, delta: takeDelta(server.metrics), figures });
}

/** `/metrics`, which the first process knows for all. */
function readPage(): Promise<string> {
  const id = ++question;
  return new Promise<string>((resolve, reject) => {
    const refuse = () => reject(new Failure('unavailable', 'The first process does not answer.'));
    const timer = setTimeout(refuse, PAGE_MS);
    pages.set(id, (text) => {
      clearTimeout(timer);
      if (text === null) refuse();
      else resolve(text);
    });
    void tell({ kind: 'scrape', id });
  }).finally(() => pages.delete(id));
}

/** Resolves when it has left, or cannot any more. */
function tell(message: ToFirst): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(message, undefined, undefined, () => resolve());
    else resolve();
  });
}
