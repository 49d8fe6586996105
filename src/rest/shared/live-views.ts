import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { readAccountActivity } from '../../domain/endpoints/account-activity.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { countRequests } from '../../domain/endpoints/request-demand.ts';
import { countJobs } from '../../domain/jobs/count-jobs.ts';
import { listReleases } from '../../domain/releases/list-releases.ts';
import { listWorkers } from '../../domain/workers/list-workers.ts';
import { RecentTimings } from '../endpoints/recent-timings.ts';
import { toRolloutResponse } from '../releases/release-wire.ts';
import { Feed, type ReadSnapshot } from './live-feed.ts';

/** The live views of one process: a feed for each endpoint, account and account's pods that somebody watches. */
export class LiveViews {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #endpoints = new Map<EndpointId, Feed>();
  readonly #accounts = new Map<UserId, Feed>();
  readonly #pods = new Map<UserId, Feed>();

  constructor(options: { db: Db; bus: Pick<Bus, 'subscribe'>; clock: Clock; logger: Logger; metrics: Metrics }) {
    this.#db = options.db;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    const hintAll = () => {
      for (const feed of this.#endpoints.values()) feed.hint();
      for (const feed of this.#accounts.values()) feed.hint();
    };
    // A worker's hint does not say whose it is; what is watched is little, and a feed reads at most five times a second.
    for (const topic of ['endpoint', 'demand', 'worker'] as const) options.bus.subscribe(topic, hintAll);
    options.bus.subscribe('pod', () => {
      for (const feed of this.#pods.values()) feed.hint();
    });
  }

  /** Jobs, workers and roll-out of an endpoint. Throws `notFound`; ends when the endpoint is deleted. */
  async watchEndpoint(userId: UserId, id: EndpointId): Promise<Feed> {
    await getEndpointRow(this.#db, userId, id);
    return feedOf(this.#endpoints, id, () => {
      const timings = new RecentTimings(() => this.#metrics.jobsOf(id));
      return new Feed({ read: () => this.#readEndpoint(userId, id, timings), logger: this.#logger });
    });
  }

  /** Sums over all endpoints of an account, and those of them where something goes on. */
  watchAccount(userId: UserId): Feed {
    const read = async () => JSON.stringify(await readAccountActivity(this.#db, userId));
    return feedOf(this.#accounts, userId, () => new Feed({ read, logger: this.#logger }));
  }

  /** All pods of an account, as `read` shows them. */
  watchPods(userId: UserId, read: ReadSnapshot): Feed {
    return feedOf(this.#pods, userId, () => new Feed({ read, logger: this.#logger }));
  }

  async #readEndpoint(userId: UserId, id: EndpointId, timings: RecentTimings): Promise<string | undefined> {
    try {
      const [jobs, requests, list, { rollout }] = await Promise.all([
        countJobs(this.#db, id),
        countRequests(this.#db, userId, id),
        listWorkers(this.#db, userId, id, this.#clock.now()),
        listReleases(this.#db, userId, id),
      ]);
      // Without the running seconds: the client counts them, and an idle endpoint sends nothing.
      const workers = list.workers.map(({ uptimeSeconds: _, ...worker }) => worker);
      return JSON.stringify({
        jobs,
        requests: requests.get(id) ?? { held: 0, inFlight: 0 },
        workers,
        summary: list.summary,
        endpointVersion: list.endpointVersion,
        rollout: toRolloutResponse(rollout),
        times: timings.read(),
      });
    } catch (error) {
      if (error instanceof Failure && error.kind === 'notFound') return undefined;
      throw error;
    }
  }
}

/** Feeds that nobody watches any more are dropped when another one is made. */
function feedOf<Id>(feeds: Map<Id, Feed>, id: Id, make: () => Feed): Feed {
  const known = feeds.get(id);
  if (known) return known;
  for (const [other, feed] of feeds) if (!feed.isWatched) feeds.delete(other);
  const feed = make();
  feeds.set(id, feed);
  return feed;
}
