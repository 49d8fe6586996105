import { Failure, messageOf } from '../../../core/errors.ts';
import type { FreezingWorker } from '../../../domain/workers/frozen-workers.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';

/** Large models take seconds to move to the machine's memory and back. */
export const SLEEP_TIMEOUT_MS = 60_000;

const DEFAULT_HTTP_PORT = 80;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '0.0.0.0', '[::1]']);

/**
 * Puts a worker to sleep, or wakes it, by what Podyard itself can do: its URLs or a checkpoint. Workers with a handler of a kit
 * do it themselves (dataplane/worker-api/job-take.ts). Throws one sentence when that fails.
 */
export async function runSleepHook(
  runtime: Pick<Runtime, 'reach' | 'gpuSleep'>,
  worker: Pick<FreezingWorker, 'id' | 'sleepMethod' | 'sleepUrl' | 'wakeUrl' | 'httpPort'>,
  order: 'sleep' | 'wake',
): Promise<void> {
  const { id, sleepMethod, sleepUrl, wakeUrl } = worker;
  if (sleepMethod === 'URL') await callHook(runtime, worker, order === 'sleep' ? sleepUrl : wakeUrl);
  else if (sleepMethod === 'CHECKPOINT' && order === 'sleep') await runtime.gpuSleep?.suspend(id);
  else if (sleepMethod === 'CHECKPOINT') await runtime.gpuSleep?.resume(id);
}

/** True when both variables are URLs that Podyard can call. */
export function hasSleepUrls(env: Readonly<Record<string, string>>): boolean {
  return [env.PODYARD_SLEEP_URL, env.PODYARD_WAKE_URL].every((url) => url !== undefined && parseHookUrl(url) !== null);
}

/** Returns the port (null: that of its requests) and the path of a URL inside a worker; null when it is another URL. */
export function parseHookUrl(text: string): { port: number | null; path: string } | null {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' || !LOOPBACK.has(url.hostname) || url.username !== '' || url.password !== '')
    return null;
  return { port: url.port === '' ? null : Number(url.port), path: `${url.pathname}${url.search}` };
}

/** POSTs without a body, as vLLM's /sleep and /wake_up expect. Any status from 200 to 299 is a success. */
async function callHook(
  runtime: Pick<Runtime, 'reach'>,
  { id, httpPort }: Pick<FreezingWorker, 'id' | 'httpPort'>,
  text: string | null,
): Promise<void> {
  const hook = parseHookUrl(text ?? '');
  if (!hook) throw new Failure('unprocessable', `${text ?? 'no URL'} is not a http:// URL of localhost`);
  const port = hook.port ?? httpPort ?? DEFAULT_HTTP_PORT;
  const at = await runtime.reach(id, port);
  if (!at) throw new Failure('unavailable', `nothing listens on port ${port}`);
  const host = at.host.includes(':') ? `[${at.host}]` : at.host;
  const status = await fetch(`http://${host}:${at.port}${hook.path}`, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(SLEEP_TIMEOUT_MS),
  }).then(
    async (response) => {
      await response.body?.cancel();
      return response.status;
    },
    (error: unknown) => {
      const cause = error instanceof Error && error.cause ? messageOf(error.cause) : messageOf(error);
      throw new Failure('unavailable', `${text} failed: ${cause}`);
    },
  );
  if (status < 200 || status > 299) throw new Failure('unavailable', `${text} answered ${status}`);
}
