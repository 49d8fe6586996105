import type { Logger } from '../core/logger.ts';
import { type Api, CLIENT_GONE, type Metrics } from '../core/metrics.ts';
import type { CallResponse } from '../http/call-messages.ts';

/** Where requests are counted, and logged at level debug. */
export interface RequestSinks {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * Counts and logs one request of the queue API or the worker API when its response ends. Handlers add what becomes known:
 * ids of existing records, never what a client wrote.
 */
export class RequestLog {
  readonly api: Api;
  requestId: string | undefined;
  /** The operation's name. Unmatched requests share one, or unauthenticated clients could create metrics at will. */
  route = 'none';
  userId: string | undefined;
  endpointId: string | undefined;
  workerId: string | undefined;
  jobId: string | undefined;
  /** Once the response has ended. */
  status: number | undefined;
  durationMs: number | undefined;

  constructor({ metrics, logger }: RequestSinks, api: Api, res: CallResponse) {
    this.api = api;
    const startedAt = performance.now();
    res.on('close', () => {
      const durationMs = performance.now() - startedAt;
      this.status = res.headersSent ? res.statusCode : CLIENT_GONE;
      this.durationMs = Math.round(durationMs);
      metrics.requestEnded(api, this.route, this.status, durationMs);
      logger.debug(this, 'request'); // no copy: mostly nobody reads it
    });
  }
}
