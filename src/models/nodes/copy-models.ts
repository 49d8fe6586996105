import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, messageOf } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { UsedModel } from '../store/worker-views.ts';
import { NodeStore, type NodeStoreOptions } from './node-store.ts';

/** The answer of the models' door (model-door.ts) to a worker's init container. */
export interface ModelOffer {
  workerId: WorkerId;
  models: UsedModel[];
  /** Those that were asked about and have not ended. */
  live: WorkerId[];
}

const MAX_TRIES = 5;
const RETRY_MS = 500;
const TIMEOUT_MS = 30_000;

/** Copies the models of one worker to its node, from the door at `url`. Throws a sentence that names the model. */
export async function copyModels(
  { url, retryMs = RETRY_MS, ...options }: NodeStoreOptions & { url: string },
  { onProgress, signal }: { onProgress: (line: string) => void; signal: AbortSignal },
): Promise<void> {
  const store = new NodeStore({ ...options, retryMs });
  const workers = await store.workerIds();
  const { workerId, models, live } = await ask(url, { workers }, { retryMs, signal });
  const ended = workers.filter((id) => !live.includes(id));
  const urlOf = ({ digest }: { digest: string }) => new URL(`${url}/${digest}`);
  await store.bring({ workerId, models, ended, urlOf, onProgress, signal });
}

async function ask(
  url: string,
  question: { workers: WorkerId[] },
  { retryMs, signal }: { retryMs: number; signal: AbortSignal },
): Promise<ModelOffer> {
  for (let tries = 1; ; tries++) {
    try {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(question), signal: timeout });
      if (response.ok) return (await response.json()) as ModelOffer;
      throw new Error(`it answered with status ${response.status}`);
    } catch (error) {
      signal.throwIfAborted();
      if (tries === MAX_TRIES) throw notReached(url, error);
      await sleep(retryMs * 2 ** (tries - 1), undefined, { signal });
    }
  }
}

/** The URL is a secret but for its host. */
function notReached(url: string, error: unknown): Failure {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const text = `the models could not be asked for at ${new URL(url).host}, where the leading process of Podyard has them: ${messageOf(cause)}`;
  return new Failure('unavailable', text, { cause });
}
