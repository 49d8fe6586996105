import type { UserId } from '../../core/ids.ts';
import { searchLog } from '../../domain/logs/search-log.ts';
import { FairSlots } from '../../http/fair-slots.ts';

/**
 * Searches of logs that run at once in this process, and those of one user: a search that finds little keeps a core of the
 * database and one of the process's connections busy for up to a second.
 */
const LIMITS = { slots: 3, perOwner: 1 };

/** Lets users take turns in searching logs. */
export class LogSearches {
  readonly #slots = new FairSlots(LIMITS);

  /** Returns `searchLog` for one user: each call waits for the user's turn. */
  of(userId: UserId): typeof searchLog {
    return (sources, search) => this.#slots.run(userId, () => searchLog(sources, search));
  }
}
