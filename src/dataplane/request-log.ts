import type { ServerResponse } from 'node:http';
import type { Logger } from '../core/logger.ts';
import { type Api, CLIENT_GONE, type Metrics } from '../core/metrics.ts';

/** What counts requests, and says on the log at level debug what became of each. */
export interface RequestSinks {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * One request of the queue API or the worker API, from its beginning to the end of its answer. Whoever handles it adds
 * what becomes known: ids of records that there are, never what a client wrote.
 */
export class RequestLog {
  requestId: string | undefined;
  /** The operation's name; what reaches none is one, or strangers could make routes at will. */
  route = 'none';
  userId: string | undefined;
  endpointId: string | undefined;
  workerId: string | undefined;
  jobId: string | undefined;

  constructor(book: RequestSinks, api: Api, res: ServerResponse) {
    const startedAt = performance.now();
    res.on('close', () => {
      const durationMs = performance.now() - startedAt;
      const status = res.headersSent ? res.statusCode : CLIENT_GONE;
      book.metrics.requestEnded(api, this.route, status, durationMs);
      book.logger.debug({ api, ...this, status, durationMs: Math.round(durationMs) }, 'request');
    });
  }
}
