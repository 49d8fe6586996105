import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId, JobId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import { findTraceContext, type TraceContext } from '../../core/trace-context.ts';
import type { SpanAttributes, Tracing } from '../../core/tracing.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { BatchId } from '../../domain/batches/batch.ts';
import { findBatch } from '../../domain/batches/batch-store.ts';
import { renderBatch } from '../../domain/batches/render-batch.ts';
import { renderNotice } from '../../domain/budgets/record-notices.ts';
import { recordWebhookRefusal } from '../../domain/jobs/find-webhook.ts';
import { renderJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';
import { INPUT } from '../../domain/jobs/payloads.ts';
import { type WebhookPolicy, WebhookRefused } from '../../domain/jobs/webhook-policy.ts';
import { postWebhook, Refused } from '../../outbound/post-webhook.ts';

const TICK_MS = 30_000;
const MAX_ATTEMPTS = 3;
/** The pause after a failure (docs/interface/queue.md, "Webhooks"). */
const PAUSE_SECONDS = 10;
const MAX_IN_FLIGHT = 100;
/** A receiver that accepts and never answers holds this many for 10 s each. */
const MAX_PER_HOST = 10;
/** Above a host's, so that one dead receiver of an endpoint leaves room for its others. */
const MAX_PER_ENDPOINT = 20;
/** More hosts of an endpoint wait until some of these are done. */
const MAX_HOSTS = 100;
/** The distinct values of the first column that follows in an index, one probe each. */
const distinct = (value: string, from: string) => `
  with recursive known (value) as (
    select min(${value}) from ${from}
    union all
    select (select min(${value}) from ${from} and ${value} > known.value) from known where known.value is not null
  )
  select value from known where value is not null`;
/**
 * The next deliveries, of each host and endpoint as many as may be in flight. $1: those in flight; $2, $3, $4: hosts, endpoints and
 * users that have their share; $5: how many. Reads no more of a queue that is passed over, however long: by webhook_deliveries_queues.
 */
export const WAITING = `
  with endpoint as (
    select o.value as id, coalesce(e.user_id, o.value) as user_id
    from (${distinct('endpoint_id', 'webhook_deliveries where true')}) o left join endpoints e on e.id = o.value
    where o.value <> all($3::text[]) and coalesce(e.user_id, o.value) <> all($4::text[])
  )
  select d.*, endpoint.id as "endpointId", endpoint.user_id as "userId", host.value as host,
         extract(epoch from d.next_at - now())::float8 * 1000 as "inMs"
  from endpoint
  cross join lateral (
    ${distinct('webhook_host(url)', 'webhook_deliveries where endpoint_id = endpoint.id')} limit ${MAX_HOSTS}
  ) host
  cross join lateral (
    select id, job_id as "jobId", batch_id as "batchId", notice_id as "noticeId", url, attempt, next_at
    from webhook_deliveries
    where endpoint_id = endpoint.id and webhook_host(url) = host.value and id <> all($1::bigint[])
    order by next_at limit ${MAX_PER_HOST}
  ) d
  where host.value <> all($2::text[])
  order by d.next_at limit $5`;

/** One more element of `tries`. $3: the receiver's status, or null; $4: why it failed, or null. */
const TRIED = "tries || jsonb_build_object('at', now(), 'status', $3::int, 'error', left($4::text, 500))";

/** Served by the primary key: $1 job, $2 delivery. A batch keeps its own account. */
const END = `
  with ended as (
    delete from webhook_deliveries where job_id = $1 and id = $2
    returning job_id, batch_id, notice_id, created_at, ${TRIED} as tries
  )
  insert into webhook_results (job_id, created_at, is_delivered, tries)
  select job_id, created_at, $4::text is null, tries from ended where batch_id is null and notice_id is null
  on conflict do nothing`;

/** As above; $5: tries so far; $6: seconds until the next one. */
const RETRY_LATER = `
  update webhook_deliveries set attempt = $5, next_at = now() + $6 * interval '1 second', tries = ${TRIED}
  where job_id = $1 and id = $2`;

const WEBHOOK_SPAN = { name: 'job webhook', kind: 'client' } as const;

/** A message, and the trace that it belongs to. */
interface Message {
  body: string;
  context: TraceContext | null;
}

interface Delivery {
  id: number;
  jobId: JobId;
  /** The batch that ended; null: the job. */
  batchId: BatchId | null;
  /** A budget's threshold that was passed, of neither a job nor an endpoint; null: none. */
  noticeId: number | null;
  endpointId: EndpointId;
  url: string;
  host: string;
  /** The endpoint's user; where there is none any more, the endpoint's id. */
  userId: string;
  attempt: number;
}

/** The outcome of a try: the receiver's status, if there is one, and why it failed, if it did. */
interface Try {
  status: number | null;
  error: string | null;
}

interface InFlight extends Pick<Delivery, 'host' | 'endpointId' | 'userId'> {
  ended: Promise<void>;
}

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  queue: JobQueue;
  tracing: Tracing | null;
  webhooks: WebhookPolicy;
}

/**
 * POSTs every job with a webhook when it ends, every batch, and the notices of budgets. A delivery is a row until it succeeded or was tried three times, so it
 * survives a kill, and may then arrive twice. How it went is kept as long as the result. Redirects are not followed; each attempt resolves and checks the address.
 *
 * Deliveries in flight are limited by host and by endpoint, so that a dead receiver delays only its own, and no user has more in flight
 * than there is room for others: one has half of it at most, two a third each.
 */
export class WebhookDeliverer {
  readonly #log: SeldomLog;
  readonly #deps: Deps;
  readonly #loop: Loop;
  /** By delivery. */
  readonly #inFlight = new Map<number, InFlight>();
  #stopping = new AbortController();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
    this.#loop = new Loop({
      name: 'deliver-webhooks',
      tickMs: TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [deps.bus.subscribe('webhook', wake)],
    });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#stopping.abort(); // the rows stay: the next leader delivers them
    await Promise.all([...this.#inFlight.values()].map(({ ended }) => ended));
    this.#log.close();
  }

  async #run(): Promise<NextRun | undefined> {
    // Each round starts all it read, or excludes one more host, endpoint or user.
    for (;;) {
      const room = this.#room();
      if (room === 0) return undefined; // the next delivery that ends wakes the loop
      const waiting = await this.#listWaiting(room);
      for (const delivery of waiting) {
        if (delivery.inMs > 0) return { inMs: delivery.inMs };
        if (this.#hasRoomFor(delivery)) this.#start(delivery);
      }
      if (waiting.length < room) return undefined;
    }
  }

  /** Returns the next deliveries, whether due or not, except those whose host, endpoint or user has its share in flight. */
  async #listWaiting(atMost: number): Promise<(Delivery & { inMs: number })[]> {
    const inFlight = [...this.#inFlight.values()];
    const result = await this.#deps.pool.query<Delivery & { inMs: number }>(WAITING, [
      [...this.#inFlight.keys()],
      full(
        inFlight.map(({ host }) => host),
        MAX_PER_HOST,
      ),
      full(
        inFlight.map(({ endpointId }) => endpointId),
        MAX_PER_ENDPOINT,
      ),
      full(
        inFlight.map(({ userId }) => userId),
        this.#room(),
      ),
      atMost,
    ]);
    return result.rows;
  }

  #room(): number {
    return MAX_IN_FLIGHT - this.#inFlight.size;
  }

  #hasRoomFor({ host, endpointId, userId }: Delivery): boolean {
    let [ofHost, ofEndpoint, ofUser] = [0, 0, 0];
    for (const other of this.#inFlight.values()) {
      if (other.host === host) ofHost++;
      if (other.endpointId === endpointId) ofEndpoint++;
      if (other.userId === userId) ofUser++;
    }
    return ofHost < MAX_PER_HOST && ofEndpoint < MAX_PER_ENDPOINT && ofUser < this.#room();
  }

  #start(delivery: Delivery): void {
    const { host, endpointId, userId } = delivery;
    const ended = this.#deliver(delivery)
      .catch((error) => {
        const { jobId } = delivery;
        this.#log.warn({ endpointId, jobId, err: error }, 'recording a webhook failed');
      })
      .finally(() => {
        this.#inFlight.delete(delivery.id);
        this.#loop.wake();
      });
    this.#inFlight.set(delivery.id, { host, endpointId, userId, ended });
  }

  async #deliver(delivery: Delivery): Promise<void> {
    try {
      const status = await this.#post(delivery, await this.#read(delivery));
      await this.#end(delivery, { status, error: null });
    } catch (error) {
      if (!this.#stopping.signal.aborted) await this.#retryLater(delivery, error);
    }
  }

  /** Keeps the outcome with the job's result. */
  async #end({ id, jobId }: Delivery, { status, error }: Try): Promise<void> {
    await this.#deps.pool.query(END, [jobId, id, status, error]);
  }

  /** Resolves with the receiver's status. Rejects with a Refused if that is not a 2xx. */
  async #post(
    { id: _id, host: _host, userId: owner, url, ...delivery }: Delivery,
    { body, context }: Message,
  ): Promise<number> {
    const { webhooks, tracing } = this.#deps;
    const span = context && tracing?.begin({ ...WEBHOOK_SPAN, parent: context, attributes: attributesOf(delivery) });
    let hasFailed = true;
    try {
      const options = { webhooks, owner, signal: this.#stopping.signal, context: span?.context ?? context };
      const status = await postWebhook(url, body, options);
      hasFailed = false;
      return status;
    } finally {
      span?.end(hasFailed);
    }
  }

  /** Reads the job as /status shows it, with its input and webhook. Throws when its result has expired or it is retried. */
  async #read(delivery: Delivery): Promise<Message> {
    if (delivery.batchId !== null) return { body: await this.#readBatch(delivery.batchId), context: null };
    if (delivery.noticeId !== null) {
      return { body: await renderNotice(this.#deps.pool, delivery.noticeId), context: null };
    }
    const job = await this.#deps.queue.find(delivery.jobId);
    const source = await this.#deps.pool.query<{ input: string; extras: string | null }>(
      `select ${INPUT} from finished_jobs where id = $1 and keep_until > now()`,
      [delivery.jobId],
    );
    const [row] = source.rows;
    const result = job?.largeBytes ? await this.#deps.queue.readResult(delivery.jobId) : {};
    if (!job || !row || !result) throw new Error('the job has no result');
    const body = renderJob({ ...job, ...result }, `,"input":${row.input},"webhook":${JSON.stringify(delivery.url)}`);
    return { body, context: findTraceContext(row.extras) };
  }

  async #readBatch(id: BatchId): Promise<string> {
    const batch = await findBatch(this.#deps.pool, id);
    if (!batch) throw new Error('the batch has expired');
    return JSON.stringify(renderBatch(batch));
  }

  /** Schedules the next attempt, or gives up after the last one. */
  async #retryLater(delivery: Delivery, failure: unknown): Promise<void> {
    const { pool } = this.#deps;
    const reason = messageOf(failure);
    const tried = { status: failure instanceof Refused ? failure.status : null, error: reason };
    const attempt = delivery.attempt + 1;
    const isLast = attempt >= MAX_ATTEMPTS;
    const fields = { endpointId: delivery.endpointId, jobId: delivery.jobId, attempt, isLast };
    this.#log.warn({ ...fields, err: failure }, 'webhook delivery failed');
    if (failure instanceof WebhookRefused) await recordWebhookRefusal(pool, delivery.endpointId, reason);
    if (isLast) await this.#end(delivery, tried);
    else {
      const { id, jobId } = delivery;
      await pool.query(RETRY_LATER, [jobId, id, tried.status, tried.error, attempt, PAUSE_SECONDS]);
    }
  }
}

/** Returns the names that occur `limit` times. */
function full(names: readonly string[], limit: number): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].flatMap(([name, count]) => (count >= limit ? [name] : []));
}

function attributesOf({
  jobId,
  endpointId,
  attempt,
}: Omit<Delivery, 'id' | 'host' | 'userId' | 'url' | 'batchId' | 'noticeId'>): SpanAttributes {
  return { 'podyard.endpoint.id': endpointId, 'podyard.job.id': jobId, 'podyard.webhook.attempt': attempt + 1 };
}
