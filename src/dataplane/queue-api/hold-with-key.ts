import { keyEnded } from '../../http/authenticate.ts';
import { sendProblem } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

/**
 * Runs what holds the request. When its key is revoked or expires meanwhile, the client gets a 401, or its connection is
 * cut if the response was started, and `held` sees the response closed.
 */
export async function holdWithKey<T>({ plane, actor, res }: QueueCall, held: () => Promise<T>): Promise<T> {
  const unwatch = plane.keyRing.onEnd(actor.keyId, () => sendProblem(res, keyEnded()));
  try {
    return await held();
  } finally {
    unwatch();
  }
}
