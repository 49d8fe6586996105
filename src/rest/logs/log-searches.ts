import { Failure } from '../../core/errors.ts';
import { FairSlots } from '../../core/flow/fair-slots.ts';
import type { UserId } from '../../core/ids.ts';
import { searchLog } from '../../domain/logs/search-log.ts';

/**
 * Searches of logs that run at once in this process, and those of one user: a search that finds little keeps a core of the
 * database and one of the process's connections busy for up to a second.
 */
const LIMITS = { slots: 3, perOwner: 1 };

/** Lets users take turns in searching logs. */
export class LogSearches {
  readonly #slots = new FairSlots(LIMITS);

  /** Returns `searchLog` for one user: each call waits for the user's turn, and fails if its client is gone by then. */
  of(userId: UserId, socket?: { closed: boolean }): typeof searchLog {
    return (sources, search) =>
      this.#slots.run(userId, async () => {
        if (socket?.closed) throw new Failure('badRequest', 'The connection was closed before the answer.');
        return searchLog(sources, search);
      });
  }
}
