import { Failure } from '../../core/errors.ts';
import { LIMITS, type LimitName } from './limits.ts';

/** How soon a client may try again what is too much for now. */
const RETRY_AFTER_SECONDS = 5;

/** The use that a request would add to the user's. */
export interface LimitUse {
  limit: number;
  used: number;
  more: number;
}

/**
 * Returns the refusal of a request that would exceed a limit, with the limit's name and figures: `tooManyRequests` if it may
 * be granted once the user has less, `forbidden` if it never is.
 */
export function overLimit(name: LimitName, { limit, used, more }: LimitUse): Failure {
  const { unit, isFreedByWaiting } = LIMITS[name];
  const rule = `the limit '${name}' allows ${limit} ${unit}`;
  if (more > limit) return new Failure('forbidden', `${rule}; this needs ${more}`);
  const detail = `${rule}; ${used} are in use, and this needs ${more} more`;
  if (!isFreedByWaiting) return new Failure('forbidden', detail);
  return new Failure('tooManyRequests', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** Why further log lines of a user are dropped. */
export function overDay(limitBytes: number): string {
  return `the limit 'logBytesPerDay' allows ${limitBytes} ${LIMITS.logBytesPerDay.unit}`;
}

/** The refusal of a request body over `requestBytes`, whose size may not be known yet. */
export function bodyOverLimit(limitBytes: number): Failure {
  const { unit } = LIMITS.requestBytes;
  return new Failure('forbidden', `the limit 'requestBytes' allows ${limitBytes} ${unit}; this one is larger`);
}
