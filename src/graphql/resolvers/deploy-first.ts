import { Failure } from '../../core/errors.ts';
import type { NewPod } from '../../domain/pods/create-pod.ts';
import { NO_CAPACITY } from '../../domain/pods/place-pod.ts';
import type { Pod } from '../../domain/pods/pod.ts';

/** Deploys the first of the pods that there is capacity for. Throws what the first one was refused with when there is none for any. */
export async function deployFirst(wishes: readonly NewPod[], deploy: (wish: NewPod) => Promise<Pod>): Promise<Pod> {
  let refusal: unknown;
  for (const wish of wishes) {
    try {
      return await deploy(wish);
    } catch (error) {
      if (!(error instanceof Failure && error.message.startsWith(NO_CAPACITY))) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}
