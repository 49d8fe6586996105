import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf } from '../../core/errors.ts';
import type { EndpointId, JobId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import { findTraceContext, type TraceContext } from '../../core/trace-context.ts';
import type { SpanAttributes, Tracing } from '../../core/tracing.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { renderJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';
import { resolveWebhookHost } from './webhook-address.ts';

const TICK_MS = 30_000;
const MAX_ATTEMPTS = 3;
/** The wait after the first and the second failure (docs/interface/queue.md, "Webhooks"). */
const BACK_OFF_SECONDS = [5, 15];
const TIMEOUT_MS = 10_000;
const AT_ONCE = 50;

const WEBHOOK_SPAN = { name: 'job webhook', kind: 'client' } as const;

/** What is sent, and the trace that it belongs to. */
interface Message {
  body: string;
  context: TraceContext | null;
}

interface Delivery {
  id: number;
  jobId: JobId;
  endpointId: EndpointId;
  url: string;
  attempt: number;
}

/**
 * POSTs every job with a webhook when it ends. A delivery is a row until it succeeded or was tried three times, so it
 * survives a kill; it may then arrive twice. Redirects are not followed, and each try resolves and checks the address.
 */
export class WebhookDeliverer {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #queue: JobQueue;
  readonly #tracing: Tracing | null;
  readonly #allowPrivate: boolean;
  readonly #loop: Loop;
  /** Deliveries under way: a slow receiver holds up none but its own. */
  readonly #underWay = new Map<number, Promise<void>>();
  #stopping = new AbortController();
  #unsubscribe: () => void = () => {};

  constructor(options: {
    pool: Pool;
    bus: Bus;
    logger: Logger;
    queue: JobQueue;
    tracing: Tracing | null;
    allowPrivate: boolean;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#logger = options.logger;
    this.#queue = options.queue;
    this.#tracing = options.tracing;
    this.#allowPrivate = options.allowPrivate;
    this.#loop = new Loop({
      name: 'deliver-webhooks',
      tickMs: TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#unsubscribe = this.#bus.subscribe('webhook', () => this.#loop.wake());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    this.#stopping.abort(); // what is cut off stays a row, and is delivered by the next leader
    await Promise.all(this.#underWay.values());
  }

  async #run(): Promise<NextRun | undefined> {
    const room = AT_ONCE - this.#underWay.size;
    if (room === 0) return undefined; // the next one that ends wakes the loop
    const due = await this.#pool.query<Delivery>(
      `select id, job_id as "jobId", endpoint_id as "endpointId", url, attempt from webhook_deliveries
       where next_at <= now() and id <> all($1::bigint[]) order by next_at limit $2`,
      [[...this.#underWay.keys()], room],
    );
    for (const delivery of due.rows) this.#start(delivery);
    const next = await this.#pool.query<{ at: Date | null }>(
      'select min(next_at) as at from webhook_deliveries where id <> all($1::bigint[])',
      [[...this.#underWay.keys()]],
    );
    const at = next.rows[0]!.at;
    return at && this.#underWay.size < AT_ONCE ? { atMs: at.getTime() } : undefined;
  }

  #start(delivery: Delivery): void {
    const task = this.#deliver(delivery)
      .catch((error) => {
        const { jobId, endpointId } = delivery;
        this.#logger.warn({ endpointId, jobId }, `a webhook is tried again: ${messageOf(error)}`);
      })
      .finally(() => {
        this.#underWay.delete(delivery.id);
        this.#loop.wake();
      });
    this.#underWay.set(delivery.id, task);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    try {
      await this.#post(delivery, await this.#read(delivery));
      await this.#pool.query('delete from webhook_deliveries where id = $1', [delivery.id]);
    } catch (error) {
      if (!this.#stopping.signal.aborted) await this.#postpone(delivery, messageOf(error));
    }
  }

  async #post({ id: _id, url, ...delivery }: Delivery, { body, context }: Message): Promise<void> {
    const options = { allowPrivate: this.#allowPrivate, signal: this.#stopping.signal };
    const span =
      context && this.#tracing?.begin({ ...WEBHOOK_SPAN, parent: context, attributes: attributesOf(delivery) });
    let hasFailed = true;
    try {
      await post(url, body, { ...options, context: span?.context ?? context });
      hasFailed = false;
    } finally {
      span?.end(hasFailed);
    }
  }

  /** The job as /status shows it, with its input and webhook. Throws when there is no result (any more, or a retry is under way). */
  async #read(delivery: Delivery): Promise<Message> {
    const job = await this.#queue.find(delivery.jobId);
    const source = await this.#pool.query<{ input: string; extras: string | null }>(
      'select input, extras from finished_jobs where id = $1 and keep_until > now()',
      [delivery.jobId],
    );
    const [row] = source.rows;
    if (!job || !row) throw new Error('the job has no result');
    const body = renderJob(job, `,"input":${row.input},"webhook":${JSON.stringify(delivery.url)}`);
    return { body, context: findTraceContext(row.extras) };
  }

  async #postpone(delivery: Delivery, reason: string): Promise<void> {
    const attempt = delivery.attempt + 1;
    const isLast = attempt >= MAX_ATTEMPTS;
    this.#logger.warn(
      { endpointId: delivery.endpointId, jobId: delivery.jobId, attempt },
      `a webhook was not delivered: ${reason}${isLast ? '; given up' : ''}`,
    );
    if (isLast) await this.#pool.query('delete from webhook_deliveries where id = $1', [delivery.id]);
    else {
      await this.#pool.query(
        "update webhook_deliveries set attempt = $2, next_at = now() + $3 * interval '1 second' where id = $1",
        [delivery.id, attempt, BACK_OFF_SECONDS[attempt - 1]],
      );
    }
  }
}

function attributesOf({ jobId, endpointId, attempt }: Omit<Delivery, 'id' | 'url'>): SpanAttributes {
  return { 'podyard.endpoint.id': endpointId, 'podyard.job.id': jobId, 'podyard.webhook.attempt': attempt + 1 };
}

async function post(
  url: string,
  body: string,
  { allowPrivate, signal, context }: { allowPrivate: boolean; signal: AbortSignal; context: TraceContext | null },
): Promise<void> {
  const target = new URL(url);
  const { address, family } = await resolveWebhookHost(target.hostname, allowPrivate);
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
  await new Promise<void>((resolve, reject) => {
    const req = send(
      target,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Podyard',
          ...(context && { traceparent: context.traceparent }),
          ...(context?.tracestate && { tracestate: context.tracestate }),
        },
        lookup: (_name, options, done) =>
          options.all ? done(null, [{ address, family }]) : done(null, address, family),
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), signal]),
        agent: false,
      },
      (res) => {
        res.resume();
        const status = res.statusCode ?? 0;
        if (status >= 200 && status < 300) resolve();
        else reject(new Error(`it was answered with status ${status}`));
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}
