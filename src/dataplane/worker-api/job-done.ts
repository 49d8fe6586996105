import { Failure, notFound } from '../../core/errors.ts';
import { withTimeout } from '../../core/flow/with-timeout.ts';
import { findShapeFault } from '../../core/text/json-scan.ts';
import type { JobResult } from '../../domain/jobs/job.ts';
import { COMMIT_TIMEOUT_MS, resultNotStored } from '../../domain/jobs/job-batching.ts';
import { type ParsedJson, sliceMembers } from '../../domain/jobs/job-body.ts';
import { LARGE_JSON_BYTES, LargeJson, scanInTurns } from '../../domain/jobs/parse-in-turns.ts';
import { drainWorker } from '../../domain/workers/order-workers.ts';
import type { ByteReservation } from '../../http/floods/byte-budget.ts';
import { because } from '../../scaling/because.ts';
import { sendJson } from '../exchange.ts';
import { withBody } from '../read-body.ts';
import { markObeyed } from './job-stop.ts';
import type { WorkerCall } from './worker-call.ts';

/** From this size on, the job of a result is looked up before its body is read. */
const LARGE_BYTES = 65_536;

/**
 * The result of a job, or a progress update. The body is JSON whatever its content type says (SDKs send a form type).
 * Responds 200 to a result that is stored, repeated or too late, 404 for an unknown job, and 400 to a result that cannot
 * be stored, which fails the job with the same sentence.
 */
export async function jobDone(call: WorkerCall): Promise<void> {
  const { plane, worker, jobId, res } = call;
  if (isLarge(call) && !(await plane.dispatch.queue.has(jobId, worker.endpointId))) throw notFound('job');
  const { outcome, refusal, wantsRecycling } = await store(call);
  if (outcome === 'progress') return sendJson(res, 200, '{}');
  if (wantsRecycling) await recycle(call);
  if (outcome === 'unknown') throw notFound('job');
  if (refusal) throw new Failure('badRequest', refusal);
  if (outcome === 'stale') {
    if (worker.isStoppingJob) await markObeyed(call, [jobId]);
    plane.logger.info(
      { endpointId: worker.endpointId, workerId: worker.id, jobId },
      'dropped a result for a job that the worker does not hold',
    );
  }
  sendJson(res, 200, '{}');
}

/** A body of unknown length counts as large. */
function isLarge({ req }: WorkerCall): boolean {
  return !(Number(req.headers['content-length']) < LARGE_BYTES);
}

interface Stored {
  outcome: 'ended' | 'stale' | 'unknown' | 'progress';
  wantsRecycling: boolean;
  refusal?: string | undefined;
}

/** Reads the report and stores it. A result over the limit fails the job; it is not read if its size is announced. */
async function store(call: WorkerCall): Promise<Stored> {
  const { req, res, plane, worker } = call;
  const limitBytes = plane.limits.resultBytes;
  const source = { req, res, budget: plane.bodies, userId: worker.userId, limitBytes, tooLarge };
  try {
    return await withBody(source, async (body, reservation) => {
      const report = body.length < LARGE_JSON_BYTES ? parseReport(body) : await parseLargeReport(body, worker.userId);
      return storeReport(call, report, reservation);
    });
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'contentTooLarge') throw error;
    const size = req.headers['content-length'];
    const report = refused(
      `the result${size ? ` of ${size} bytes` : ''} is larger than the limit of ${limitBytes} bytes`,
    );
    return storeReport(call, report);
  }
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('contentTooLarge', `the result is larger than the limit of ${limitBytes} bytes`);
}

async function storeReport(
  { plane, worker, jobId }: WorkerCall,
  report: Report,
  reservation?: ByteReservation,
): Promise<Stored> {
  const { progress, result, wantsRecycling, refusal } = report;
  plane.activity.recordWork(worker.id);
  if (progress !== undefined) {
    const saving = plane.dispatch.queue.saveProgress(jobId, worker.id, progress);
    reservation?.keepFor(saving);
    if (await withTimeout(saving, COMMIT_TIMEOUT_MS, resultNotStored)) plane.dispatch.notifyProgress(jobId, null);
    return { outcome: 'progress', wantsRecycling };
  }
  const outcome = await plane.dispatch.finish({ jobId, workerId: worker.id, ...result });
  const isForeign = outcome.kind === 'stale' && outcome.job.endpointId !== worker.endpointId;
  return { outcome: isForeign ? 'unknown' : outcome.kind, wantsRecycling, refusal };
}

interface Report {
  progress?: string;
  result: Pick<JobResult, 'status' | 'output' | 'error'>;
  wantsRecycling: boolean;
  /** Why the result cannot be stored. */
  refusal?: string;
}

/**
 * Parses the bodies of docs/interface/worker-api.md, "Results". A result that cannot be parsed fails the job, which would
 * otherwise hang until its timeout.
 */
function parseReport(bytes: Buffer): Report {
  const fault = findShapeFault(bytes);
  if (fault !== null) return refused(`the result cannot be taken: ${fault}`);
  const text = bytes.toString();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return refused('the worker sent a result that is not valid JSON');
  }
  return reportOf({ text, value: body, slice: (names) => sliceMembers(text, names) });
}

/** The same in turns of the worker's user. */
async function parseLargeReport(bytes: Buffer, owner: string): Promise<Report> {
  const scan = await scanInTurns(bytes, owner, ['output', 'error', 'status', 'stopPod']);
  const { fault } = scan;
  if (fault?.isTooMuch) return refused(`the result cannot be taken: ${fault.text}`);
  return fault ? refused('the worker sent a result that is not valid JSON') : reportOf(new LargeJson(bytes, scan));
}

function reportOf(parsed: Pick<ParsedJson, 'text' | 'value' | 'slice'>): Report {
  const { value: body } = parsed;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { result: { status: 'COMPLETED', output: parsed.text, error: null }, wantsRecycling: false }; // a bare output
  }
  const report = body as { output?: unknown; error?: unknown; status?: unknown; stopPod?: unknown };
  const members = parsed.slice(['output', 'error']);
  const output = members.get('output') ?? null;
  if (report.status === 'IN_PROGRESS')
    return { progress: String(output ?? 'null'), result: NOTHING, wantsRecycling: false };
  const hasError = report.error !== undefined && report.error !== null;
  return {
    result: {
      status: hasError ? 'FAILED' : 'COMPLETED',
      output,
      error: hasError ? errorText(report.error, members.get('error')!) : null,
    },
    wantsRecycling: report.stopPod === true,
  };
}

function refused(refusal: string): Report {
  return { result: { status: 'FAILED', output: null, error: refusal }, wantsRecycling: false, refusal };
}

const NOTHING = { status: 'COMPLETED', output: null, error: null } as const;

/** Returns a string as it is, anything else as its JSON. */
function errorText(error: unknown, source: string | Buffer): string {
  const text = typeof error === 'string' ? error : String(source);
  return text.replaceAll('\0', '\uFFFD'); // PostgreSQL's text cannot hold NUL
}

/** Drains a worker that asked to be replaced after this job (refresh_worker). */
async function recycle({ plane, worker }: WorkerCall): Promise<void> {
  await drainWorker(plane.pool, worker.id, because('ASKED'));
  plane.bus.publish('worker', worker.id);
  plane.bus.publish('demand', worker.endpointId);
}
