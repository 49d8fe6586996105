import { Failure } from '../../core/errors.ts';
import type { NewPod } from './create-pod.ts';
import { NO_CAPACITY } from './place-pod.ts';
import type { Pod } from './pod.ts';

/** Creates the first of the candidates that there is capacity for. Throws the first one's refusal if there is none for any. */
export async function createFirstPod(
  candidates: readonly NewPod[],
  create: (candidate: NewPod) => Promise<Pod>,
): Promise<Pod> {
  let refusal: unknown;
  for (const candidate of candidates) {
    try {
      return await create(candidate);
    } catch (error) {
      if (!(error instanceof Failure && error.message.startsWith(NO_CAPACITY))) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}
