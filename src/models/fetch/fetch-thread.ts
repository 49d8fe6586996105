/** The thread of a `FileFetcher`. */
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicClock } from '../../core/clock.ts';
import { Failure, messageOf } from '../../core/errors.ts';
import { Bandwidth } from './bandwidth.ts';
import { type FetchDeps, fetchFile, type OnSize } from './fetch-file.ts';
import type { FromThread, ThreadOptions, ToThread } from './file-fetcher.ts';
import type { Reach } from './http-get.ts';

const REPORT_MS = 100;

const { bytesPerSecond, ...options } = workerData as ThreadOptions;
const deps: FetchDeps = { ...options, bandwidth: new Bandwidth(bytesPerSecond) };
const aborts = new Map<number, AbortController>();
const calls = new Map<number, (answer: Extract<ToThread, { do: 'reach' }>) => void>();
let lastCall = 0;

parentPort!.on('message', (message: ToThread) => {
  if (message.do === 'fetch') void run(message);
  else if (message.do === 'abort') aborts.get(message.id)?.abort(new Error('nothing waits for it any more'));
  else {
    calls.get(message.call)?.(message);
    calls.delete(message.call);
  }
});

function post(message: FromThread): void {
  parentPort!.postMessage(message);
}

async function run({ id, origin, file, path }: Extract<ToThread, { do: 'fetch' }>): Promise<void> {
  const controller = new AbortController();
  aborts.set(id, controller);
  const reach: Reach | null = origin.isReached ? { resolve: (url) => ask(id, url) } : null;
  const onSize = seldom((size, received) => post({ id, is: 'here', size, received }));
  try {
    const { url, model, access } = origin;
    const place = { url: new URL(url), model, access, reach };
    await fetchFile(deps, place, file, { path, onSize: onSize.call, signal: controller.signal });
    onSize.flush();
    post({ id, is: 'done' });
  } catch (error) {
    onSize.flush();
    post({ id, is: 'failed', failure: describe(error) });
  } finally {
    aborts.delete(id);
  }
}

/** The thread knows no rules of where it may connect to. */
function ask(id: number, url: URL): ReturnType<Reach['resolve']> {
  lastCall += 1;
  const call = lastCall;
  return new Promise((resolve, reject) => {
    calls.set(call, ({ place, refusal }) => {
      if (place) resolve(place);
      else reject(Object.assign(new Error(refusal?.message), { name: refusal?.name ?? 'Error' }));
    });
    post({ id, is: 'reaching', call, url: url.href });
  });
}

/** Adds up what comes in a tenth of a second. What came last is reported even if nothing follows. */
function seldom(report: OnSize): { call: OnSize; flush: () => void } {
  let [reportedAt, size, received] = [Number.NEGATIVE_INFINITY, 0, 0];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    reportedAt = monotonicClock.now();
    report(size, received);
    received = 0;
  };
  const call: OnSize = (now, more) => {
    size = now;
    received += more;
    if (timer !== undefined) return;
    const leftMs = reportedAt + REPORT_MS - monotonicClock.now();
    if (leftMs <= 0) flush();
    else timer = setTimeout(flush, leftMs);
  };
  return { call, flush };
}

function describe(error: unknown): { kind: Failure['kind']; message: string; cause: string } {
  const kind = error instanceof Failure ? error.kind : 'unavailable';
  const cause = (error as { cause?: unknown }).cause;
  return { kind, message: messageOf(error), cause: cause === undefined ? '' : messageOf(cause) };
}
