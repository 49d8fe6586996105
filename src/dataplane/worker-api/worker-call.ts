import type { JobLimits } from '../../config/config.ts';
import type { JobId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { GuessLimiter } from '../../domain/access/guess-limiter.ts';
import type { JobStream } from '../../domain/jobs/job-stream.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import type { BodyBudget } from '../body-budget.ts';
import type { EndpointDirectory } from '../endpoint-directory.ts';
import type { HubPlane } from '../hub/hub-plane.ts';
import type { JobDispatch } from '../job-dispatch.ts';
import type { WorkerActivity } from '../worker-activity.ts';
import type { WorkerDirectory, WorkerEntry } from '../worker-directory.ts';
import type { ParkedTakes, StopPolls } from './stop-polls.ts';
import type { StreamedBytes } from './streamed-bytes.ts';
import type { UndeliveredJobs } from './undelivered-jobs.ts';

/** Shared by the operations of the worker API. */
export interface WorkerPlane {
  dispatch: JobDispatch;
  stream: JobStream;
  streamedBytes: StreamedBytes;
  endpoints: EndpointDirectory;
  workers: WorkerDirectory;
  /** Requests of workers that do not exist. */
  guesses: GuessLimiter;
  activity: WorkerActivity;
  undeliveredJobs: UndeliveredJobs;
  parkedTakes: ParkedTakes;
  stopPolls: StopPolls;
  /** Null: there is none. */
  hub: HubPlane | null;
  pool: Pool;
  bus: Bus;
  limits: JobLimits;
  bodies: BodyBudget;
  metrics: Metrics;
  logger: Logger;
}

/** One authenticated request of a worker. */
export interface WorkerCall {
  req: CallRequest;
  res: CallResponse;
  plane: WorkerPlane;
  worker: WorkerEntry;
  jobId: JobId;
  /** The query, unparsed, without its `?`: most operations read one parameter or none. */
  search: string;
}
