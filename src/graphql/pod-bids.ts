import { Failure } from '../core/errors.ts';
import { podUsdPerHour } from '../domain/billing/price-list.ts';
import type { NewPod } from '../domain/pods/create-pod.ts';
import { NO_CAPACITY } from '../domain/pods/place-pod.ts';
import type { Pod } from '../domain/pods/pod.ts';

/**
 * Bids for pods that may be interrupted. Here none is: a bid gets a pod at its usual price, if it covers that price, and so
 * never costs more than what was bid.
 */

/** Returns the candidates whose price per GPU the bid covers. Throws `badRequest` if it covers none. */
export function coveredByBid(candidates: readonly NewPod[], bidPerGpu: number): NewPod[] {
  const covered = candidates.filter((pod) => usdPerGpu(pod) <= bidPerGpu);
  if (covered.length > 0) return covered;
  throw tooLow(bidPerGpu, Math.min(...candidates.map(usdPerGpu)));
}

/** Throws `badRequest` if the bid does not cover the pod's price per GPU. */
export function checkBid(pod: Pod, bidPerGpu: number): void {
  const price = usdPerGpu(pod);
  if (price > bidPerGpu) throw tooLow(bidPerGpu, price);
}

function usdPerGpu(pod: Pick<NewPod, 'gpu' | 'cpu' | 'cloud'>): number {
  return podUsdPerHour(pod) / (pod.gpu?.count ?? 1);
}

function tooLow(bid: number, price: number): Failure {
  return new Failure(
    'badRequest',
    `${NO_CAPACITY} for a bid of ${bid} USD per GPU and hour: pods cost ${price} and are not interrupted.`,
  );
}
