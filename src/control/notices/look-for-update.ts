import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { NoticeFacts, Update } from '../../domain/notices/notice-facts.ts';
import { compareVersions, readNewestVersion } from '../../outbound/release-place.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

interface Deps {
  /** Where the operator keeps releases; null: nowhere, and nothing is ever looked up. */
  place: string | null;
  /** The version that runs. */
  current: string;
  clock: Clock;
  logger: Logger;
}

/**
 * Returns a function that says what is known of a newer version, and looks beside that once a day; an hour after a place that could not be read.
 * It waits for nothing: notices do not depend on a place that does not answer.
 */
export function updateLook({ place, current, clock, logger }: Deps): () => NoticeFacts['update'] {
  if (place === null) return () => null;
  let known: NoticeFacts['update'];
  let nextMs = 0;
  const look = async (): Promise<Update | null> => {
    const version = await readNewestVersion(place);
    return compareVersions(version, current) > 0 ? { version, current, place } : null;
  };
  return () => {
    if (clock.now() < nextMs) return known;
    nextMs = Number.POSITIVE_INFINITY; // one look at a time
    void look()
      .then(
        (update) => {
          known = update;
          return DAY_MS;
        },
        (error: unknown) => {
          known = undefined;
          logger.warn({ path: place, reason: messageOf(error) }, 'no newer version can be looked for');
          return HOUR_MS;
        },
      )
      .then((pauseMs) => {
        nextMs = clock.now() + pauseMs;
      });
    return known;
  };
}
