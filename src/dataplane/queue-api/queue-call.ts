import type { JobLimits } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { JobId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Tracing } from '../../core/tracing.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { Actor } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import type { ResultMarks } from '../../domain/batches/result-lines.ts';
import type { JobStream } from '../../domain/jobs/job-stream.ts';
import type { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import type { AnswerBudget } from '../../http/floods/answer-budget.ts';
import type { BodyBudget } from '../body-budget.ts';
import type { EndpointDirectory, EndpointEntry } from '../endpoint-directory.ts';
import type { JobDispatch } from '../job-dispatch.ts';
import type { ModelDirectory } from '../model-directory.ts';
import type { RequestLog } from '../request-log.ts';
import type { UserDirectory } from '../user-directory.ts';
import type { UploadPace } from './batches/upload-pace.ts';

/** Shared by the operations of the queue API. */
export interface QueuePlane {
  dispatch: JobDispatch;
  stream: JobStream;
  endpoints: EndpointDirectory;
  users: UserDirectory;
  models: ModelDirectory;
  keyRing: KeyRing;
  pool: Pool;
  bus: Bus;
  resultMarks: ResultMarks;
  clock: Clock;
  monotonic: Clock;
  limits: JobLimits;
  webhooks: WebhookPolicy;
  bodies: BodyBudget;
  uploadPace: UploadPace;
  answers: AnswerBudget;
  metrics: Metrics;
  tracing: Tracing | null;
  processId: string;
  logger: Logger;
}

/** One authenticated request: its actor, endpoint and job. */
export interface QueueCall {
  req: CallRequest;
  res: CallResponse;
  plane: QueuePlane;
  log: RequestLog;
  actor: Actor;
  endpoint: EndpointEntry;
  jobId: JobId | undefined;
  /** The rest of the path after the operation's name, with its `/`. */
  subPath: string;
  query: URLSearchParams;
}
