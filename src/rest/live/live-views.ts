import { monotonicClock } from '../../core/clock.ts';
import { OpeningPace } from '../../core/flow/opening-pace.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import { Feed, type ReadSnapshot } from './live-feed.ts';

/**
 * Bus topics after which a view may have changed. A worker's hint does not name its endpoint, so every watched one is read
 * again: few are watched, and a feed reads at most five times a second.
 */
const TOPICS = {
  endpoint: ['endpoint', 'demand', 'worker'],
  account: ['endpoint', 'demand', 'worker'],
  pods: ['pod'],
} as const;

type View = keyof typeof TOPICS;

/** The live views of this process: one feed per watched endpoint, account, or account's pods. */
export class LiveViews {
  readonly openings = new OpeningPace(monotonicClock, { burst: 60, perSecond: 20 });
  readonly #logger: Logger;
  readonly #feeds: Readonly<Record<View, Map<string, Feed>>> = {
    endpoint: new Map(),
    account: new Map(),
    pods: new Map(),
  };

  constructor({ bus, logger }: { bus: Pick<Bus, 'subscribe'>; logger: Logger }) {
    this.#logger = logger;
    for (const view of Object.keys(TOPICS) as View[]) {
      const hintAll = () => {
        for (const feed of this.#feeds[view].values()) feed.hint();
      };
      for (const topic of TOPICS[view]) bus.subscribe(topic, hintAll);
    }
  }

  /** Returns the view's feed for `id`; `createRead` is called only if there is none yet. */
  watch(view: View, id: string, createRead: () => ReadSnapshot): Feed {
    const feeds = this.#feeds[view];
    const known = feeds.get(id);
    if (known) return known;
    for (const [other, feed] of feeds) if (!feed.isWatched) feeds.delete(other);
    const feed = new Feed({ read: createRead(), logger: this.#logger, clock: monotonicClock });
    feeds.set(id, feed);
    return feed;
  }
}
